"""What a grading says of a hand-in, which several may have handed in."""

import pytest

from grader.classroom.task import nameless
from grader.listing import names
from grader.report.safe_text import one_line

SHORT = "/home/prof/class/Ann Lee_1_assignsubmission_file_"
LONG = f"/home/prof/{'deep/' * 100}Ann Lee_1_assignsubmission_file_"


@pytest.mark.parametrize("path", [SHORT, LONG, f"{SHORT}\x1b", f"{SHORT}\udce9", f"{SHORT}  ."])
@pytest.mark.parametrize("shown", [str, names.shortened, one_line])
def test_nothing_says_whose_files_they_are(path, shown):
    """Who has handed in the same is graded once with them, and is told the same."""
    said = nameless(f"grade: {shown(path)} holds no file", path)
    assert said == "grade: the hand-in holds no file"


def test_what_lies_in_a_hand_in_is_still_named():
    assert (
        nameless(f"{SHORT}/ring.py cannot be read", SHORT) == "the hand-in/ring.py cannot be read"
    )
