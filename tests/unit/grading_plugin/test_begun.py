"""A TODO that is left in code that has sent something, and one in code that nobody has begun."""

from dataclasses import replace

import pytest

from grader.grading_plugin.relaunch import told_as_begun
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.report import Attempt, RunFailure, Verdict

from ..judge.build import Run

TODO = RunFailure(Verdict.NOT_ATTEMPTED, "to be written", kind="todo", is_lasting=True)
OWN = {"ring.py": b"import x\ncomm.Send(a, 1)\ncomm.Recv(b, 0)\n"}


def launched(call, line, file="ring.py", failure=TODO):
    run = Run(2)
    run.call(0, call, file=f"/submission/{file}", line=line, is_send=call == "Send")
    attempt = Attempt(2, ({}, {}), run.trace(), failure)
    return LaunchResult((), failure, unfinished=attempt)


@pytest.fixture
def template(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "ring.py").write_text("import x\n\n    comm.Recv(b, 0)\n")
    return tmp_path


@pytest.mark.parametrize(("call", "line"), [("Send", 2), ("Barrier", 2)])
def test_code_whose_own_lines_have_called_was_attempted(template, call, line):
    """It ends one case, not the part; what the ranks did is told with it."""
    found = told_as_begun(launched(call, line), OWN, template)
    assert (found.failure.verdict, found.failure.is_lasting) == (Verdict.RUN_TIME_ERROR, False)
    assert found.failure.message == TODO.message
    assert found.unfinished.failure == found.failure


@pytest.mark.parametrize(
    ("call", "line", "file"),
    [
        ("Send", 3, "ring.py"),
        ("Send", 2, "given.py"),
        ("Send", 0, "ring.py"),
        ("Send", 99, "ring.py"),
        ("Comm_dup", 2, "ring.py"),
    ],
)
def test_calls_of_given_lines_begin_nothing(template, call, line, file):
    """Nor do those of other files, and calls that bring nothing to anybody."""
    assert told_as_begun(launched(call, line, file), OWN, template) == launched(call, line, file)


def test_other_failures_stay_as_they_are(template):
    """As does a launch without any."""
    crash = replace(TODO, verdict=Verdict.DEADLOCK)
    for each in (launched("Send", 2, failure=crash), LaunchResult((), None)):
        assert told_as_begun(each, OWN, template) == each
    assert told_as_begun(launched("Send", 3), OWN, None).failure.verdict is Verdict.RUN_TIME_ERROR
