"""The page of all assignments is complete."""

from pathlib import Path

from grader.addons.authoring import catalogue
from grader.course.assignment import Assignment
from grader.course.assignment_file import Manual, Part
from grader.course.courses import bundled

KNOWN = bundled().assignments()


def test_every_part_has_its_row():
    """With its points, and what a person marks as well."""
    lines = catalogue.markdown(KNOWN).splitlines()
    for assignment in KNOWN:
        assert f"## {assignment.name}" in lines
        for piece in (*assignment.parts, *assignment.manual):
            start = f"| `{piece.name}` | {piece.points:g} | {piece.title} | "
            assert any(line.startswith(start) for line in lines), piece.name


def test_a_row_says_files_other_names_and_rules():
    """In the order of the columns; a bar in a text does not begin a new one."""
    part = Part(
        *("ring", "Ring | all", ("ring.py", "part1/main.py"), "f()", "test_ring.py", 2.5, "mpi", 1),
        accepted_names={"ring.py": ("1b.py",)},
        rules=("one neighbour", "no lock"),
    )
    quiet = Part("fit", "Fit", ("fit.py",), "f()", "test_fit.py", 3, "mpi", 1)
    manual = (Manual("why", "Why", 4, "report.pdf"),)
    page = catalogue.markdown(
        [Assignment("it", "All of it", Path("it"), (), (part, quiet), manual, source="a sheet")]
    )
    assert page.endswith(
        "## it\n\n"
        "All of it. 5.5 points, and 4 graded by hand.\n\n"
        "Source: a sheet.\n\n"
        "| part | points | asked | handed in | rules, besides correct results |\n"
        "| --- | ---: | --- | --- | --- |\n"
        "| `ring` | 2.5 | Ring &#124; all | `ring.py` or `1b.py`, `part1/main.py` "
        "| one neighbour; no lock |\n"
        "| `fit` | 3 | Fit | `fit.py` | |\n"
        "| `why` | 4 | Why | `report.pdf` | graded by hand, pending until then |\n"
    )
