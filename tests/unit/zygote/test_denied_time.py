"""What a machine denies a run is what others had while the run could have had it."""

import os
import subprocess
import sys
import time

import pytest

from grader.zygote.denied_time import DeniedTime, denied_s

SPIN = "while True: pass"


@pytest.mark.parametrize(
    ("ran_s", "waited_s", "expected_s"),
    [
        pytest.param(0.0, 0.0, 0.0, id="nobody wants to run"),
        pytest.param(1.0, 0.0, 0.0, id="one runs all the time"),
        pytest.param(0.25, 0.75, 0.75, id="one is kept waiting by three others"),
        pytest.param(0.1, 0.3, 0.3, id="one computes now and then"),
        pytest.param(2.0, 14.0, 0.0, id="sixteen that poll have both cores to themselves"),
        pytest.param(0.5, 3.5, 0.75, id="four have a quarter of both cores"),
        pytest.param(0.0, 1.0, 1.0, id="one does not run at all"),
        pytest.param(2.1, 0.4, 0.0, id="the kernel counts a little late"),
    ],
)
def test_a_run_is_compared_with_itself_on_an_idle_machine(ran_s, waited_s, expected_s):
    """In one second, on two cores."""
    assert denied_s(1.0, ran_s, waited_s, 2) == pytest.approx(expected_s)


def started(number):
    """Start processes that want a core each, and more than there are get none."""
    command = [sys.executable, "-I", "-S", "-c", SPIN]
    # Some kernels share cores by session.
    return [subprocess.Popen(command, start_new_session=True) for _ in range(number)]


def stop(processes):
    for each in processes:
        each.kill()
        each.wait()


def looked_at_for(processes, lasts_s):
    """Return what was denied to these processes while the clock passed this."""
    denied = DeniedTime(len(os.sched_getaffinity(0)))
    time.sleep(lasts_s)
    denied.look([each.pid for each in processes])
    return denied.total_s


def test_processes_that_share_their_cores_with_others_are_denied_most_of_the_time():
    """One among many: of two cores and seventeen processes it gets an eighth at best."""
    mine = started(1)
    others = started(8 * len(os.sched_getaffinity(0)))
    try:
        began_s = time.monotonic()
        denied = looked_at_for(mine, 2.0)
        lasted_s = time.monotonic() - began_s
    finally:
        stop([*mine, *others])
    assert 0.4 * lasted_s < denied <= lasted_s


def test_processes_that_ask_for_more_than_there_is_are_denied_nothing_by_that():
    """They wait for each other; on an idle machine they would as well."""
    crowd = started(16 * len(os.sched_getaffinity(0)))
    try:
        alone_s = looked_at_for(crowd, 1.0)
        one_s = looked_at_for(crowd[:1], 1.0)
    finally:
        stop(crowd)
    assert alone_s < 0.7 * one_s


def test_a_process_that_is_gone_and_a_kernel_that_tells_nothing_deny_nothing(monkeypatch, tmp_path):
    """The clock alone counts then."""
    denied = DeniedTime(2)
    denied.look([1 << 22])
    folder = tmp_path / "7" / "task" / "7"
    folder.mkdir(parents=True)
    (folder / "schedstat").write_text("0 0 0\n")
    monkeypatch.setattr("grader.zygote.denied_time._PROC", tmp_path)
    denied.look([7])
    assert denied.total_s == 0.0


def test_looks_are_added_up(monkeypatch, tmp_path):
    """Each counts what has come since the last one; a thread that has ended takes nothing back."""
    monkeypatch.setattr("grader.zygote.denied_time._PROC", tmp_path)
    clock_s = iter([0.0, *(s for look in (1.0, 2.0, 3.0) for s in (look, look))])
    monkeypatch.setattr("grader.zygote.denied_time.time.monotonic", lambda: next(clock_s))
    denied = DeniedTime(2)

    def tell(thread, ran_s, waited_s):
        folder = tmp_path / "7" / "task" / thread
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schedstat").write_text(f"{ran_s * 1e9:.0f} {waited_s * 1e9:.0f} 5\n")

    tell("7", 0.5, 0.5)
    denied.look([7])
    assert denied.total_s == pytest.approx(0.5)
    tell("7", 1.25, 0.75)
    tell("8", 0.0, 0.0)
    denied.look([7])
    assert denied.total_s == pytest.approx(0.75)
    (tmp_path / "7" / "task" / "8" / "schedstat").unlink()
    (tmp_path / "7" / "task" / "8").rmdir()
    tell("7", 1.25, 1.75)
    denied.look([7])
    assert denied.total_s == pytest.approx(1.75)
