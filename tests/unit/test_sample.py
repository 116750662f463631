"""Which tests `make test` draws."""

import pytest
from sample import is_drawn

LABELS = "test_submissions.py::test_submission_gets_its_verdict_for_the_right_reason"
ATTACKS = "container/test_hostile.py::test_attack_gains_nothing"


@pytest.mark.parametrize("test", [LABELS, ATTACKS])
def test_each_grading_of_a_submission_is_drawn_in_one_turn(test):
    """And in none are there many more than in another."""
    names = [f"{test}[number_{number}]" for number in range(300)]
    turns = [[name for name in names if is_drawn(name, turn=turn, one_in=3)] for turn in range(3)]
    assert sorted(name for turn in turns for name in turn) == sorted(names)
    assert min(map(len, turns)) > 60


def test_all_else_is_drawn_in_each_turn():
    """Labels are read, and controls graded, each time."""
    for test in (
        "test_submissions.py::test_label_is_complete_and_agrees_with_its_folder[a]",
        "container/test_hostile.py::test_control_keeps_its_marks[honest]",
        "unit/judge/test_values.py::test_a",
    ):
        assert all(is_drawn(test, turn=turn, one_in=3) for turn in range(3))


def test_turns_come_again():
    """A turn is a number of commits and days."""
    names = [f"{LABELS}[number_{number}]" for number in range(30)]
    late, early = (
        [name for name in names if is_drawn(name, turn=turn, one_in=4)] for turn in (4002, 2)
    )
    assert late == early != []


def test_the_names_of_what_is_drawn_from_are_right(pytestconfig):
    """Those of a test that is renamed would all be graded again, and nobody would see why."""
    folder = pytestconfig.rootpath / "tests"
    for test in (LABELS, ATTACKS):
        file, _, function = test.partition("::")
        assert f"def {function}(" in (folder / file).read_text()
        assert not all(is_drawn(f"{test}[{n}]", turn=0, one_in=3) for n in range(9))
