"""A launch that fails for reasons of the machine: retried once, never charged to the student."""

import pytest
from launching import run, values

from grader.model.errors import GraderError, LaunchError
from grader.observe.run_control.connections import Connections
from grader.observe.run_control.watch import Watch
from grader.recording.observation import EndKind


def failing(times, monkeypatch):
    """Let the first `times` launches lose their ranks while starting."""
    real = Connections.accept_all
    calls = []

    def accept_all(self, deadline_s, still_starting):
        calls.append(1)
        if len(calls) <= times:
            raise LaunchError("0 of 2 ranks started")
        real(self, deadline_s, still_starting)

    monkeypatch.setattr(Connections, "accept_all", accept_all)
    return calls


def test_one_failure_is_retried(monkeypatch):
    """The second launch answers, and nobody hears of the first."""
    calls = failing(1, monkeypatch)
    assert values(run("def go(comm): return 5")) == [5.0, 5.0]
    assert len(calls) == 2


def test_two_failures_are_the_graders(monkeypatch):
    """Then the grader failed, with what mpirun said; there is no third try."""
    calls = failing(2, monkeypatch)
    with pytest.raises(
        GraderError, match=r"2 ranks failed to start twice in a row; .* had run: 0 of 2"
    ):
        run("def go(comm): return 5")
    assert len(calls) == 2


def test_what_goes_wrong_before_student_code_runs_is_not_the_students(monkeypatch):
    """Ranks that hang in what we do to get them ready are started again."""
    real, looks = Watch.look, []

    def look(self, returned):
        looks.append(1)
        if len(looks) == 1:
            return self.end(EndKind.STALLED, returned)
        return real(self, returned)

    monkeypatch.setattr(Watch, "look", look)
    assert values(run("def go(comm): return 5")) == [5.0, 5.0]
    assert len(looks) > 1


def test_ranks_that_really_cannot_start_are_the_graders_failure(monkeypatch, tmp_path):
    """An mpirun that ends at once is noticed at once, and what it printed is passed on."""
    broken = tmp_path / "mpirun"
    broken.write_text("#!/bin/sh\necho 'no slots today' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr("grader.observe.run_control.machine.mpirun", lambda: str(broken))
    with pytest.raises(GraderError, match="no slots today"):
        run("def go(comm): return 5")
