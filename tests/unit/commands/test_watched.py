"""A judge that grades here is watched from outside, and ended when it does not move."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
    import ctypes, os, select, signal, socket, struct, sys, time
    from grader.commands.watched import watched
    from grader.sealed.container.watchdog import Watchdog
    from grader.recording.journal import Finished, Journal, Step
    from grader.model.report import TestResult, Verdict

    TESTS = ("test_a", "test_b", "test_c")
    log = open(sys.argv[1], "a", buffering=1)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def stopped():
        os.kill(os.getpid(), signal.SIGSTOP)

    def blocked_reading():
        os.read(os.pipe()[0], 1)

    def blocked_closing():
        listener = socket.create_server(("127.0.0.1", 0))
        sender = socket.create_connection(listener.getsockname())
        peer = listener.accept()[0]
        sender.setblocking(False)
        try:
            while True:
                sender.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
        sender.close()

    def with_the_interpreters_lock():
        ctypes.PyDLL(None).sleep(600)

    def busy_for_good():
        while True:
            pass

    def killed():
        os.kill(os.getpid(), signal.SIGKILL)

    def dies(test, number):
        {dies}

    def grade(resume, write):
        journal = Journal(resume, write)
        {begin}
        told = []
        for test in TESTS:
            step = Step("p", "test_p", "", test)
            if journal.kept({{step}}):
                told.append(f"{{test}}: passed")
                continue
            if journal.why_lost(step):
                told.append(f"{{test}}: {{journal.why_lost(step)}}")
                continue
            journal.started(step)
            log.write(test + "\\n")
            number = open(sys.argv[1]).read().count(test)
            journal.beat("a case", {within_s})
            dies(test, number)
            result = TestResult(test, "s", Verdict.ACCEPTED, 1, 1)
            journal.finished(Finished(step, result, "", None, 1))
            told.append(f"{{test}}: passed")
        return "\\n".join([*told, *resume.notes])

    def show(report):
        {show}
        print(report, flush=True)
        return 1

    sys.exit(watched(grade, show, Watchdog(first_word_s=20)))
"""


def start(tmp_path: Path, **pieces: object) -> "subprocess.Popen[str]":
    given = {"dies": "pass", "begin": "pass", "show": "pass", "within_s": 0.5, **pieces}
    program = textwrap.dedent(PROGRAM.format(**given))
    return subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def run(tmp_path: Path, **pieces: object) -> tuple[int, list[str], str]:
    """Return the exit code, the lines of the report and what was said besides."""
    with start(tmp_path, **pieces) as process:
        report, said = process.communicate(timeout=100)
    return process.returncode, report.splitlines(), said


def tried(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().split()


def test_a_judge_that_lives_is_left_alone(tmp_path):
    """Its exit code is ours; to show the report may take longer than any step."""
    code, report, said = run(tmp_path, show="time.sleep(1.5)")
    assert (code, said) == (1, "")
    assert report == ["test_a: passed", "test_b: passed", "test_c: passed"]


WAYS = (
    "stopped",
    "blocked_reading",
    "blocked_closing",
    "with_the_interpreters_lock",
    "busy_for_good",
)


@pytest.mark.parametrize("way", [*WAYS, "killed"])
def test_one_death_costs_nothing(tmp_path, way):
    """Whatever keeps the judge from moving: a fresh one takes over what is known and goes on."""
    code, report, _ = run(tmp_path, dies=f"test == 'test_b' and number == 1 and {way}()")
    assert code == 1
    assert report[:3] == ["test_a: passed", "test_b: passed", "test_c: passed"]
    assert report[3].startswith("the judge was killed once (it ")
    reason = "was killed by SIGKILL" if way == "killed" else "made no progress for 0 s (a case)"
    assert reason in report[3]
    assert tried(tmp_path) == ["test_a", "test_b", "test_b", "test_c"]


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_two_deaths_in_a_test_are_for_a_person(tmp_path, way):
    """It is lost, and said to be; the others are graded, and nobody tries it a third time."""
    _, report, _ = run(tmp_path, dies=f"test == 'test_b' and {way}()")
    assert report[0] == "test_a: passed"
    assert report[1].startswith("test_b: the judge was killed twice during this check (it ")
    assert report[1].endswith("look at this submission yourself")
    assert report[2] == "test_c: passed"
    assert tried(tmp_path) == ["test_a", "test_b", "test_b", "test_c"]


def test_all_deaths_together_are_bounded(tmp_path):
    """A submission that kills in each test does not have hours: after three deaths nothing runs."""
    started_s = time.monotonic()
    _, report, _ = run(tmp_path, dies="stopped()")
    assert tried(tmp_path) == ["test_a", "test_a", "test_b"]
    assert "killed twice during this check" in report[0]
    assert report[1].startswith("test_b: not graded") and report[2].startswith("test_c: not graded")
    assert time.monotonic() - started_s < 30


def test_a_grading_ends_also_where_each_step_keeps_its_time(tmp_path):
    """The whole has a limit as well; beyond it only the report is put together."""
    endless = "[(journal.beat('a case', 5), time.sleep(0.05)) for _ in range(10_000)]"
    begin = f"journal.limit_whole(1.0); resume.notes or {endless}"
    code, report, _ = run(tmp_path, begin=begin)
    assert code == 1
    assert all(
        ": not graded: the judge was killed once (it exceeded the total time limit for" in each
        for each in report[:3]
    )
    assert not (tmp_path / "log").read_text()


def test_a_judge_that_never_begins_is_one_sentence(tmp_path):
    """Twice, then it is told that there is no report: no exit code that could be a mark."""
    code, report, said = run(tmp_path, begin="killed()")
    assert report == []
    assert code not in (0, 2) and "GraderError: it was killed by SIGKILL" in said
    assert "look at this submission yourself" in said


def test_what_the_judge_left_behind_ends_the_tests(tmp_path):
    """A process that a dead judge has left, and that did not end in order: no run beside it."""
    left = "os.fork() or (os.setsid(), time.sleep(1), os._exit(3))"
    _, report, _ = run(tmp_path, dies=f"test == 'test_b' and ({left}, killed())")
    assert report[0] == "test_a: passed"
    for each in report[1:3]:
        assert ": not graded: some of its processes did not stop" in each
    assert tried(tmp_path) == ["test_a", "test_b"]


def wait_for(tmp_path: Path, num_lines: int) -> list[str]:
    log = tmp_path / "log"
    while not log.exists() or log.read_text().count("\n") < num_lines:
        time.sleep(0.01)
    return tried(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_reaches_the_judge_once(tmp_path, number):
    """Sent to the watcher alone, as `docker stop` does: the judge ends in order, then both have."""
    # Not `log.write`: the signal may come while the judge is in just that call.
    asked = "os.write(log.fileno(), b'asked\\n')"
    begin = f"signal.signal(signal.SIGTERM, lambda *_: ({asked}, sys.exit(3)))"
    with start(tmp_path, begin=begin, dies="time.sleep(60)", within_s=60) as process:
        wait_for(tmp_path, 1)
        os.kill(process.pid, number)
        process.wait(30)
    assert tried(tmp_path) == ["test_a", "asked"]
    assert process.returncode == 3


def test_the_judge_does_not_outlive_its_watcher(tmp_path):
    """Who kills the process that was started ends the grading."""
    dies = "log.write(f'{os.getpid()}\\n'); time.sleep(60)"
    with start(tmp_path, dies=dies, within_s=60) as process:
        found = wait_for(tmp_path, 2)
        process.kill()
    until_s = time.monotonic() + 10
    while Path("/proc", found[1]).exists() and time.monotonic() < until_s:
        time.sleep(0.01)
    assert not Path("/proc", found[1]).exists()
