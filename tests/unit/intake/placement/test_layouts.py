"""Of each layout the right file is graded, and no file is missing from the table."""

import pytest
from layouts import LAYOUTS, NAIVE, RING, RING_DONE, written, zipped

from grader.course.courses import find_courses
from grader.intake import process as intake
from grader.intake import submission as submissions
from grader.intake.placement.table import place

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


def test_parts_in_archives_of_their_own_are_found_by_the_archives_names(tmp_path):
    """As the assignment has folders for them."""
    vgg = find_courses().assignment("vgg_ddp")
    for part in ("part1", "part2a"):
        (tmp_path / f"{part}.zip").write_bytes(zipped({"main.py": b"print()\n"}))
    found = place(submissions.read(tmp_path, vgg.wanted), vgg).chosen
    assert found == {
        "part1/main.py": "part1.zip/main.py",
        "part2a/main.py": "part2a.zip/main.py",
    }


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "d/" * 40 + "x.txt", "\u7a0b\u5e8f" * 80 + "/a.py"]
)
def test_one_odd_name_refuses_no_hand_in(tmp_path, name):
    """It is told in the table, if anywhere; the rest is graded."""
    (tmp_path / "it.zip").write_bytes(zipped({RING: RING_DONE, name: b"x"}))
    assert RING in place(intake.read(tmp_path / "it.zip", MPI_SGD.wanted), MPI_SGD).chosen
