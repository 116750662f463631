"""The points that a handout names are those of assignment.toml."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from grader.addons.authoring.verification import static_checks
from grader.addons.authoring.verification.static_checks import are_sums, check_handout
from grader.course.course import Course
from grader.course.courses import bundled
from grader.grading_plugin.session import Price
from grader.model.errors import GraderError

ROOT = Path(__file__).resolve().parents[5]

PARTS = """
## What you hand in

| part | file | points |
|---|---|---:|
| `iid` | `fed.py` | 15 |
| noniid | `fed.py` | 2.5 |
| **the questions** | `report.pdf` | 10 |
| **total** | | 27.5 |
"""
PRICES = """
### 1. iid and noniid

| iid | noniid | what is asked |
|---:|---:|---|
| 5 | 2 | `a \\| b` |
| 10 | | a mean |
| | 0.5 | a figure |

## What is given

| points | on a circle |
|---|---|
| 15 | what a heading that names no part is above |

```
# iid
| points |
| 99 |
```
"""


@pytest.fixture(autouse=True)
def suites(monkeypatch):
    """Let no part have a suite whose prices are known, where a test does not say more."""

    def unknown(suite):
        raise GraderError("there is no suite")

    monkeypatch.setattr(static_checks, "prices", unknown)


def found(tmp_path, text):
    """Return what is wrong with a handout of two parts of 15 and 2.5 points, a sentence each."""
    federated = bundled().load("federated")
    first = federated.parts[0]
    manual = bundled().load("mpi_sgd").manual[0]
    assignment = replace(
        federated,
        parts=(
            structs.replace(first, name="iid", points=15),
            structs.replace(first, name="noniid", points=2.5),
        ),
        manual=(structs.replace(manual, points=10),),
        reference=tmp_path,
    )
    (tmp_path / "HANDOUT.md").write_text(text)
    return [f"{each.subject}: {each.text}" for each in check_handout(bundled(), assignment)]


def test_tables_that_agree_have_no_problem(tmp_path):
    """Sums, what a person marks, empty cells and what is code are no prices."""
    assert found(tmp_path, PARTS + PRICES) == []
    assert found(tmp_path, "# No table, which is as well\n") == []
    questions = "## The questions\n\n| question | points |\n|---|---|\n| why | 4 |\n| how | 6 |\n"
    assert found(tmp_path, PARTS + PRICES + questions) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "| 15 |\n| non",
            "| 25 |\n| non",
            "4: iid: found 25 here, but assignment.toml gives 15 points; change one of them",
        ),
        (
            "`fed.py` | 2.5",
            "`fed.py` | -",
            "4: noniid: found - here, but assignment.toml gives 2.5 points",
        ),
        (
            "| noniid | `fed.py` | 2.5 |\n",
            "",
            "4: no row names the part noniid; add one with 2.5 points",
        ),
        (
            "`report.pdf` | 10",
            "`report.pdf` | 20",
            "4: the questions: 20 points here, but assignment.toml has 10 points graded by hand",
        ),
        (
            "| 10 | |",
            "| 9 | |",
            "13: the column iid adds up to 14, but assignment.toml gives iid 15 points; change",
        ),
        # Under a heading that names two, in their order.
        ("| iid | noniid | what", "| a | b | what", ""),
        ("| 5 | 2 |", "| 2 | 5 |", "13: the column iid adds up to 12"),
        (
            "| 15 | what a",
            "| 16 | what a",
            "21: the column points adds up to 16, but assignment.toml gives iid 15 points or",
        ),
    ],
)
def test_a_table_that_does_not_agree_is_named_by_its_line(tmp_path, old, new, told):
    assert old in PARTS + PRICES
    sentences = found(tmp_path, (PARTS + PRICES).replace(old, new, 1))
    assert bool(sentences) == bool(told)
    assert not told or sentences[0].startswith(f"HANDOUT.md:{told}")


@pytest.mark.parametrize("root", [ROOT, ROOT / "tests/stencils"], ids=["bundled", "stencils"])
def test_the_handouts_here_agree(root):
    course = Course.read(root)
    for assignment in course.assignments():
        assert list(check_handout(course, assignment)) == []


@pytest.mark.parametrize("name", bundled().names())
def test_no_part_of_a_bundled_handout_is_passed_over(name):
    """Were a part worth more, its handout would not agree."""
    assignment = bundled().load(name)
    for part in assignment.parts:
        dearer = structs.replace(part, points=part.points + 0.25)
        parts = tuple(dearer if each == part else each for each in assignment.parts)
        assert list(check_handout(bundled(), replace(assignment, parts=parts))), part.name


@pytest.mark.parametrize(
    ("rows", "paid", "is_right"),
    [
        ([3.5, 3, 3.5], [3.5, 3, 3.5], True),
        ([3.5, 3, 3.5], [2.5, 4, 3.5], False),
        ([4, 2], [1.5, 2, 2.5], True),
        ([2, 2, 2], [3, 3], False),
        ([6], [0.25] * 24, True),
    ],
)
def test_rows_are_sums_of_what_tests_pay(rows, paid, is_right):
    assert are_sums(rows, paid) is is_right


def test_two_prices_that_change_by_the_same_are_noticed(tmp_path, monkeypatch):
    """The sum says nothing of them; a row may say how it shares its points."""
    text = (
        "## iid\n\n| points | what is asked |\n|---|---|\n| 10 | a mean |\n| 5 | a (2); b (3) |\n"
    )
    for paid, is_right in (((10, 2, 3), True), ((9, 3, 3), False), ((10, 1, 4), False)):
        found_there = [Price(f"test_{number}", each, "") for number, each in enumerate(paid)]
        monkeypatch.setattr(static_checks, "prices", lambda suite, there=found_there: there)
        assert (found(tmp_path, text) == []) is is_right
    (told,) = found(tmp_path, text)
    assert told.startswith(
        "HANDOUT.md:3: the rows of iid have 3, 2, but its checks have 4, 1 instead;"
    )
