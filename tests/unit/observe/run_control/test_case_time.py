"""A case has its limit of what the machine gives it, under a ceiling by the clock."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import case, run, values

from grader.model.report import Verdict
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording import observation
from grader.recording.launch_plan import Limits
from grader.recording.observation import MAX_SLOWDOWN, CaseTime

LIMIT_S = 10.0


@pytest.fixture(scope="module")
def server() -> Iterator[ForkserverClient]:
    """One for all: starting it takes as long as many runs."""
    with ForkserverClient() as started:
        yield started


def test_what_others_had_of_the_machine_does_not_count():
    """Half of the time was denied: the limit is reached after twice as long."""
    assert not CaseTime(clock_s=9.9, run_queue_delay_s=0.0).is_up(LIMIT_S)
    assert CaseTime(clock_s=10.1, run_queue_delay_s=0.0).is_up(LIMIT_S)
    assert not CaseTime(clock_s=19.9, run_queue_delay_s=10.0).is_up(LIMIT_S)
    assert CaseTime(clock_s=20.1, run_queue_delay_s=10.0).is_up(LIMIT_S)


def test_nobody_waits_for_ever():
    """By the clock a case ends as well, and that it was given less than its limit is known."""
    end_s = MAX_SLOWDOWN * LIMIT_S
    for time in (
        CaseTime(clock_s=end_s + 0.1, run_queue_delay_s=0.9 * end_s),
        CaseTime(clock_s=end_s + 0.1, run_queue_delay_s=end_s),
    ):
        assert time.is_up(LIMIT_S)
        assert time.is_starved(LIMIT_S)
    assert not CaseTime(clock_s=end_s - 0.1, run_queue_delay_s=0.9 * end_s).is_up(LIMIT_S)
    assert not CaseTime(clock_s=end_s + 0.1, run_queue_delay_s=0.0).is_starved(LIMIT_S)


def test_times_are_compared_without_what_others_had():
    """But nobody becomes faster without end by keeping its own processes waiting."""
    assert CaseTime(clock_s=5.0, run_queue_delay_s=2.0).compared_s == 3.0
    assert CaseTime(clock_s=5.0, run_queue_delay_s=4.9).compared_s == 5.0 / MAX_SLOWDOWN
    assert CaseTime(clock_s=5.0, run_queue_delay_s=-0.1).compared_s == 5.0


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Keep every core busy with eight others; some kernels share cores by session."""
    command = [sys.executable, "-I", "-S", "-c", "while True: pass"]
    number = 8 * len(os.sched_getaffinity(0))
    others = [subprocess.Popen(command, start_new_session=True) for _ in range(number)]
    try:
        yield
    finally:
        for each in others:
            each.kill()
            each.wait()


@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize(("backend", "ranks"), [("none", 1), ("mpi", 2)])
def test_work_within_the_limit_is_done_on_a_busy_machine(server, backend, ranks, monkeypatch):
    """Processes that a rank starts count as well; by the clock all of it takes far longer."""
    monkeypatch.setattr(observation, "MAX_SLOWDOWN", 100.0)
    launched = run(
        """
        import os, time
        def work():
            while time.process_time() < began_s + 0.4:
                pass
        def go(comm):
            global began_s
            began_s = time.process_time()
            if not comm and os.fork() == 0:
                began_s = 0.0
                work()
                os._exit(0)
            work()
            if not comm:
                os.wait()
        """,
        ranks=ranks,
        backend=backend,
        cases=(case(ranks=ranks, is_timed=True),),
        limits=Limits(case_s=2.0),
        server=server,
    )
    assert launched.failure is None, launched.failure
    (outcome,) = launched.outcomes
    assert outcome.given_time_s < outcome.wall_time_s / 2


def test_a_run_that_was_given_too_little_is_repeated(server, tmp_path, monkeypatch):
    """Once, when the machine has calmed down; if it has not, nothing is known of the submission."""
    monkeypatch.setattr(observation, "MAX_SLOWDOWN", 0.25)
    waited = []
    monkeypatch.setattr("grader.observe.run_control.launch.wait_until_idle", waited.append)
    mark = Path(tmp_path) / "has-run"
    source = f"""
        import pathlib, time
        def go(comm):
            mark = pathlib.Path({str(mark)!r})
            if comm.rank == 0:
                was_there = mark.exists()
                mark.write_text("x")
                if not was_there:
                    time.sleep(1000)
            return 7.0
        """
    launched = run(source, limits=Limits(case_s=20.0), server=server)
    assert launched.failure is None, launched.failure
    assert values(launched) == [7.0, 7.0]
    assert len(waited) == 1

    launched = run("import time\ndef go(comm): time.sleep(1000)", server=server)
    assert launched.failure is not None
    assert launched.failure.verdict is Verdict.JUDGE_ERROR
    assert "the machine was busy in both attempts" in launched.failure.message
    assert len(waited) == 2


def test_the_line_of_a_process_that_a_rank_has_forked_is_named(server):
    """The rank only waits for it."""
    source = """
        import os, time
        def loop():
            while True: pass
        def go(comm):
            pid = os.fork()
            if pid == 0:
                loop()
            os.waitpid(pid, 0)
        """
    launched = run(
        source,
        ranks=1,
        cases=(case(ranks=1),),
        backend="none",
        limits=Limits(case_s=1.0),
        server=server,
    )
    assert launched.failure is not None
    assert "rank 0 was still computing at work.py:4" in launched.failure.message


def test_a_run_that_had_its_time_is_not_repeated(server, monkeypatch):
    """Nobody waits twice for an endless loop."""
    monkeypatch.setattr(observation, "MAX_SLOWDOWN", 100.0)
    waited = []
    monkeypatch.setattr("grader.observe.run_control.launch.wait_until_idle", waited.append)
    launched = run(
        "def go(comm):\n    while True: pass",
        ranks=1,
        cases=(case(ranks=1),),
        limits=Limits(case_s=1.0),
        server=server,
    )
    assert launched.failure is not None
    assert launched.failure.verdict is Verdict.TIME_LIMIT_EXCEEDED
    assert "rank 0 was still computing at work.py:2" in launched.failure.message
    assert waited == []
