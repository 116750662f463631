"""Which frames of a traceback a student sees: their own, first and last."""

import traceback
from pathlib import Path

from grader.rank import exception_report

WORK, GIVEN = Path("/dev/shm/grader-x/submission"), Path("/dev/shm/grader-x/support")
TORCH = "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"


def frame(file, line=1, name="f", text="f(x)"):
    return traceback.FrameSummary(str(file), line, name, line=text)


def told(*found):
    return exception_report.frames_text(found, [WORK, GIVEN])


def test_frames_of_libraries_become_one_line_with_their_names():
    """However deep torch calls itself, the student's line above and below it stay side by side."""
    text = told(
        frame(WORK / "part1" / "main.py", 12, "<module>", "train()"),
        *[frame(TORCH, number) for number in range(9)],
        frame("/usr/lib/python3.11/argparse.py"),
        frame(WORK / "model.py", 3, "forward", "raise E"),
        frame("src/mpi4py/MPI.src/Comm.pyx"),
    )
    assert text == (
        '  File "part1/main.py", line 12, in <module>\n    train()\n'
        "  ... 10 calls inside torch, argparse\n"
        '  File "model.py", line 3, in forward\n    raise E\n'
        "  ... 1 call inside mpi4py\n"
    )


def test_our_own_frames_are_left_out():
    """The harness and the recorder between the student's code and torch are nobody's business."""
    ours = Path(exception_report.__file__).with_name("c10d.py")
    assert told(frame(WORK / "a.py"), frame(ours), frame("<frozen importlib._bootstrap>")) == (
        '  File "a.py", line 1, in f\n    f(x)\n'
    )


def test_a_file_given_with_the_assignment_is_shown_without_our_folder():
    """The student has it as well, and can look at its line."""
    assert told(frame(GIVEN / "network.py", 41, "forward_prop", "x @ w")) == (
        '  File "network.py", line 41, in forward_prop\n    x @ w\n'
    )


def test_of_a_deep_recursion_the_first_and_the_last_calls_are_shown():
    """A thousand equal frames say no more than a few."""
    text = told(*[frame(WORK / "a.py", number) for number in range(1000)])
    lines = [line for line in text.splitlines() if "File" in line or "..." in line]
    assert [line.split(", ")[1] for line in lines if "File" in line] == [
        *("line 0", "line 1", "line 2", "line 3"),
        *("line 994", "line 995", "line 996", "line 997", "line 998", "line 999"),
    ]
    assert lines[4] == "  ... 990 more calls"


def test_a_line_that_nobody_reads_to_its_end_is_cut():
    """Generated code may be one line of a million characters."""
    text = told(frame(WORK / "a.py", text="x" * 100_000))
    assert max(map(len, text.splitlines())) < 250
    assert text.endswith("...\n")
