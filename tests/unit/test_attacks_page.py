"""Each attack of the page has its forms: they are there, and they are several."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from red_team.archives import BUILDERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "attacks.md"
NAMES = {builder.__name__ for builder in BUILDERS}
FEWEST_FORMS = 3
REASON = "; fewer than three because "


@dataclass(frozen=True)
class Row:
    attacks: str
    does: str
    stopped_by: str
    forms: tuple[str, ...]
    reason: str


def row_of(line: str) -> Row:
    """Read one line of the table; raises ValueError where it has other columns."""
    attacks, does, stopped_by, forms = (cell.strip() for cell in line.strip("|\n").split("|"))
    named, _, reason = forms.partition(REASON)
    return Row(attacks, does, stopped_by, tuple(re.findall("`([^`]+)`", named)), reason)


def problems(row: Row) -> list[str]:
    """Return what is wrong with an attack's row."""
    found = [f"{name} is not there" for name in row.forms if not is_there(name)]
    if len(set(row.forms)) < len(row.forms):
        found.append("a form stands there twice")
    if len(row.forms) < FEWEST_FORMS and not row.reason:
        found.append(f"{len(row.forms)} forms, and no reason why not {FEWEST_FORMS}")
    if not row.does or not row.stopped_by:
        found.append("it says nothing of what is done, or of what stops it")
    return found


def is_there(name: str) -> bool:
    if "/" in name:
        return (ROOT / "tests" / "submissions" / name / "expected.toml").is_file()
    return name in NAMES or (ROOT / "tests" / "hostile" / name / "attack.toml").is_file()


LINES = [line for line in PAGE.read_text().splitlines() if re.match(r"\| (a|fz)\d", line)]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split("|")[1].strip())
def test_an_attack_has_forms_that_are_there(line):
    """At least three, or a reason."""
    assert problems(row_of(line)) == []


def test_the_attacks_of_the_review_are_all_there():
    """The numbers that it does not give to a submission that succeeded or held are left out."""
    told = [number for line in LINES for number in re.findall(r"a\d\d", row_of(line).attacks)]
    unused = {"a18", "a19", "a20", "a21", "a22", "a31"}
    assert {f"a{number:02}" for number in range(1, 34)} - unused == set(told)
    assert len(told) - len(set(told)) == 1, "a13 and a13b"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "| a1 | b | c | `nobody_wrote_this`, `eq_true`, `nan_result` |",
            "nobody_wrote_this is not",
        ),
        ("| a1 | b | c | `wrong_answer/mpi_sgd/none`, `eq_true`, `nan_result` |", "is not there"),
        ("| a1 | b | c | `eq_true`, `nan_result` |", "2 forms, and no reason"),
        ("| a1 | b | c | `eq_true`, `eq_true`, `nan_result` |", "twice"),
        ("| a1 | | c | `eq_true`, `zip_with_two_ends`, `nan_result` |", "says nothing"),
    ],
)
def test_a_row_that_is_not_kept_is_told(line, problem):
    (found,) = problems(row_of(line))
    assert problem in found


def test_a_reason_stands_for_missing_forms():
    assert problems(row_of(f"| a1 | b | c | `eq_true`{REASON}there is one such object |")) == []
