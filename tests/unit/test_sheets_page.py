"""What the pages of the sheets name is there, and they leave no part, question or figure out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.course.assignment import Assignment
from grader.course.courses import bundled
from grader.study import Machine, Results
from grader.study.plan import load

ROOT = Path(__file__).resolve().parents[2]
SHEETS = ROOT / "tests" / "sheets"
COURSE = bundled()
KINDS = ("part", "test", "question", "figure", "file")
NAMED = re.compile(rf"\b({'|'.join(KINDS)})s? ((?:`[^`]+`(?: \([\d.]+\))?(?:, )?)+)")
QUOTED = re.compile(r'\bhandout "([^"]+)"')
NUM_ROWS = {"mpi_sgd": 25, "federated": 14, "lenet_eyeriss": 12, "vgg_ddp": 19, "psgd_hogwild": 12}


@dataclass(frozen=True)
class Row:
    assignment: str
    number: str
    where: str
    shown_by: str

    def named(self) -> Iterator[tuple[str, str]]:
        """Yield what the row names: (kind, name)."""
        for kind, names in NAMED.findall(self.where):
            yield from ((kind, name) for name in re.findall(r"`([^`]+`(?: \([\d.]+\))?)", names))


def rows() -> list[Row]:
    found = []
    for page in sorted(SHEETS.glob("*.md")):
        for line in page.read_text().splitlines():
            if re.match(r"\| \d\.\d", line):
                number, _, where, shown_by = (cell.strip() for cell in line.strip("|").split(" | "))
                found.append(Row(page.stem, number, where, shown_by))
    return found


ROWS = rows()


def there_is(assignment: Assignment) -> dict[str, set[str]]:
    """Return the names of an assignment by kind, as a row writes them up to the closing quote."""
    machine = Machine(2, "a processor", {})
    figures = load(assignment).figures(Results({}, machine, {}))
    return {
        "part": {f"{part.name}`" for part in assignment.parts},
        "question": {f"{each.name}` ({each.points:g})" for each in assignment.manual},
        "figure": {f"{figure.name}`" for figure in figures},
    }


def problems(row: Row) -> list[str]:
    """Return what a row names that is not there."""
    assignment = COURSE.load(row.assignment)
    there = there_is(assignment)
    handout = " ".join((assignment.template / "HANDOUT.md").read_text().split())
    found = [f"the handout does not say {each}" for each in QUOTED.findall(row.where)
             if each not in handout]  # fmt: skip
    for kind, name in row.named():
        bare = name.rstrip("`")
        if kind == "test":
            is_there = is_a_test(bare)
        elif kind == "file":
            is_there = (assignment.template / bare).is_file()
        else:
            is_there = name in there[kind]
        if not is_there:
            found.append(f"no {kind} {bare}")
    if not row.where or not row.shown_by:
        found.append("it says nothing of where it is, or of what shows it")
    return found


def is_a_test(name: str) -> bool:
    file, _, function = name.partition("::")
    path = ROOT / (file if file.startswith("tests/") else f"tests/suites/{file}")
    asked = rf"^(def {function}\(|{function} = )"
    return path.is_file() and bool(re.search(asked, path.read_text(), re.MULTILINE))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_what_a_row_names_is_there(row):
    assert problems(row) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_folders_of_a_command_are_there(row):
    """The options are held by tests/test_docs.py."""
    for folder in re.findall(r"\b(?:reference|tests/submissions)/[\w/]+", row.shown_by):
        assert (ROOT / folder).is_dir()


def test_no_row_is_missing():
    """Each sheet has a number of its own, and its rows are numbered; one was split."""
    for place, (name, num_rows) in enumerate(NUM_ROWS.items()):
        numbers = [row.number for row in ROWS if row.assignment == name]
        expected = [f"{place}.{i}" for i in range(1, num_rows + 1)]
        if name == "federated":
            expected = [*expected[:2], "1.2a", *expected[2:-1]]
        assert numbers == expected


@pytest.mark.parametrize("name", NUM_ROWS)
def test_nothing_of_an_assignment_is_left_out(name):
    """Each part, each question and each figure answers to some row of its sheet."""
    told = {each for row in ROWS if row.assignment == name for each in row.named()}
    for kind, names in there_is(COURSE.load(name)).items():
        assert names <= {each for told_kind, each in told if told_kind == kind}


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("part `nothing`", "no part nothing"),
        ("question `scaling` (7)", "no question scaling` (7)"),
        ("figures `losses`, `nothing`", "no figure nothing"),
        ("file `nothing.py`", "no file nothing.py"),
        ("test `vgg_ddp/test_ddp.py::test_nothing`", "no test vgg_ddp/test_ddp.py::test_nothing"),
        ('handout "nothing of it"', "the handout does not say nothing of it"),
        ("", "it says nothing of where it is, or of what shows it"),
    ],
)
def test_what_is_not_there_is_told(where, problem):
    assert problems(Row("vgg_ddp", "3.1", where, "`grade list`")) == [problem]
