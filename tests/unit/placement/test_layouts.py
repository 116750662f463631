"""Of each layout the right file is graded, and no file is missing from the table."""

import pytest
from layouts import LAYOUTS, NAIVE, RING, ROOT, page, written

from grader import submission as submissions
from grader.courses import find_courses
from grader.intake import process as intake
from grader.placement.table import place

MPI_SGD = find_courses().assignment("mpi_sgd")


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_right_file_is_graded(tmp_path, layout):
    """Also where the hand-in is read by the process that reads what is hostile."""
    folder = written(layout, tmp_path)
    here = place(submissions.read(folder, MPI_SGD.wanted), MPI_SGD)
    assert (here.chosen.get(RING, ""), here.chosen.get(NAIVE, "")) == (layout.ring, layout.naive)
    told = {row.path: row for row in here.rows}
    for name in layout.files:
        assert name in told or name.startswith((".git/", "__pycache__/")), name
    assert {path for path, row in told.items() if row.is_graded} == {*here.chosen.values()}
    assert place(intake.read(folder, MPI_SGD.wanted), MPI_SGD).rows == here.rows


def test_the_page_is_written_from_the_layouts():
    """By `python tests/layouts.py`."""
    assert (ROOT / "docs" / "layouts.md").read_text() == page()
