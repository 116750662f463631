"""What a student is shown of what the ranks have printed."""

import os
from pathlib import Path

import pytest

from grader.observe.run_control.outputs import Outputs
from grader.observe.run_control.rank_files import RankFiles

FOLDER = Path("/dev/shm/grader-7mur5tij")


@pytest.fixture
def ranks():
    files = [RankFiles.create() for _ in range(2)]
    yield files
    for each in files:
        each.close()


def test_only_what_was_printed_since_the_case_began_is_shown(ranks):
    """What a yardstick prints in an earlier case is not the submission's."""
    outputs = Outputs(ranks, FOLDER)
    os.write(ranks[0].output, b"epoch 0 of the yardstick\n")
    outputs.begin_case()
    assert outputs.tail(0) == ""
    os.write(ranks[0].output, b"the student's\n")
    os.write(ranks[1].output, b"another\n")
    assert (outputs.tail(0), outputs.tail(1)) == ("the student's", "another")


def test_of_much_output_the_last_whole_lines_are_shown(ranks):
    """A line without its beginning could hold half of one of our paths."""
    outputs = Outputs(ranks, FOLDER)
    os.write(ranks[0].output, b"begins in an earlier case ")
    outputs.begin_case()
    os.write(ranks[0].output, b"ends in this one\n" + b"x" * 3999 + b"\nlast\n")
    assert outputs.tail(0) == "last"
    os.write(ranks[0].output, b"".join(b"line %d\n" % number for number in range(100)))
    assert outputs.tail(0).splitlines() == [f"line {number}" for number in range(88, 100)]


def test_files_of_the_run_go_by_the_names_that_a_student_knows(ranks):
    """Where the run lies is nobody's business, and means nothing to anybody."""
    outputs = Outputs(ranks, FOLDER)
    said = (
        f"{FOLDER}/submission/part1/main.py:3: UserWarning\n{FOLDER}/support/network.py:7\n"
        f"{FOLDER}/scratch/figure.png in {FOLDER}/scratch\n"
    )
    os.write(ranks[0].output, said.encode())
    assert outputs.tail(0).splitlines() == [
        "part1/main.py:3: UserWarning",
        "network.py:7",
        "figure.png in .../scratch",
    ]


def test_what_a_rank_says_names_files_as_a_student_does(ranks):
    """At any depth that our harness uses; what lies deeper is nothing that it has said."""
    outputs = Outputs(ranks, FOLDER)
    file = f"{FOLDER}/submission/ring.py"
    deep = {"a": {"b": {"c": {"d": file}}}}
    said = {"message": f"in {file}", "line": 3, "there": [file, 2], "deep": deep}
    assert outputs.values_without_our_paths(said) == {
        "message": "in ring.py",
        "line": 3,
        "there": ["ring.py", 2],
        "deep": {"a": {"b": {"c": None}}},
    }
