"""Sealed grading when its container dies: at each point, in each way, with a daemon that is none.

The container's process here is a judge that grades three tests and tells its journal.
"""

import socket
from pathlib import Path

import pytest
from docker_daemon import STDERR, STDOUT, FakeDaemon, Streams
from plain_grading import grade_plainly

from grader.intake.stream import read_secret, read_submission
from grader.model.errors import GraderError, GradingLost
from grader.model.report import TestResult, Verdict
from grader.recording import journal as journals
from grader.recording.journal import Finished, Journal, Resume, Step
from grader.sealed.container.plan import ContainerLimits

TESTS = ("test_a", "test_b", "test_c")


class Ended(Exception):
    """The container's process ends now, with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Judge:
    """What the containers run, one after the other; `dies(point, streams)` may end one."""

    def __init__(self, dies) -> None:
        self.dies = dies
        self.num_containers = 0
        self.tried: list[str] = []

    def __call__(self, streams: Streams) -> int:
        self.num_containers += 1
        try:
            read_secret(streams.stdin)
            read_submission(streams.stdin, "it")
            self._grade(streams, journals.read(streams.stdin))
        except Ended as ended:
            return ended.code
        return 0

    def _grade(self, streams: Streams, resume: Resume) -> None:
        journal = Journal(resume, lambda line: streams.write(STDERR, line.encode() + b"\n"))
        streams.journal = journal
        told = []
        self.dies(self.num_containers, "before all", streams)
        for test in TESTS:
            step = Step("p", "test_p", "", test)
            (kept,) = journal.kept({step}) or [None]
            if kept is None and journal.why_lost(step):
                told.append(f"{test}: {journal.why_lost(step)}")
                continue
            if kept is None:
                journal.started(step)
                self.tried.append(test)
                self.dies(self.num_containers, test, streams)
                result = TestResult(test, "s", Verdict.ACCEPTED, 1, 1)
                journal.finished(Finished(step, result, "", None, 1))
            told.append(f"{test}: passed")
        self.dies(self.num_containers, "after all", streams)
        streams.write(STDOUT, "\n".join([*told, *resume.notes]).encode())


@pytest.fixture
def grade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    submission = tmp_path / "anna"
    submission.mkdir()
    (submission / "my_ring_allreduce.py").write_text("# a ring\n")
    daemons = []

    def grade(dies, **limits) -> tuple[list[str], Judge]:
        judge = Judge(dies)
        daemons.append(FakeDaemon(tmp_path, judge))
        monkeypatch.setenv("DOCKER_HOST", daemons[-1].url)
        shown: list[str] = []
        asked = ContainerLimits(**limits)
        report = grade_plainly(submission, on_progress=shown.append, limits=asked)
        assert shown == []
        return report.decode().splitlines(), judge

    yield grade
    for each in daemons:
        each.close()


def in_container(number, point, act):
    """Return what does `act` in one container at one point."""

    def dies(container, here, streams):
        if (container, here) == (number, point):
            act(streams)

    return dies


def killed(streams):
    raise Ended(137)


def crashed(streams):
    raise Ended(139)


def stopped(streams):
    streams.write(STDERR, b"grade: interrupted; nothing was graded\n")
    raise Ended(3)


def lost_its_ranks(streams):
    streams.journal.lost(str(GradingLost("the ranks have gone")))
    streams.write(STDERR, f"grade: {GradingLost('the ranks have gone')}\n".encode())
    raise Ended(3)


def broke_off(streams):
    streams.write_raw(b"\x02\0\0\0\0\0\x10\0journal: ")
    raise Ended(137)


def broke_off_in_a_line(streams):
    streams.write(STDERR, b'journal: {"key": "')
    raise Ended(137)


def fell_silent(streams):
    streams.journal.beat("a case", 1.0)
    assert streams.stdin.read() == b""
    raise Ended(137)


def lost_its_connection(streams):
    streams._connection.shutdown(socket.SHUT_RDWR)
    raise Ended(0)


WAYS = [
    killed,
    crashed,
    stopped,
    lost_its_ranks,
    broke_off,
    broke_off_in_a_line,
    lost_its_connection,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("point", ["before all", *TESTS, "after all"])
def test_one_death_costs_nothing(grade, way, point):
    """Whichever way and wherever: all tests are told as passed, at most one was tried twice."""
    told, judge = grade(in_container(1, point, way))
    assert told[:3] == [f"{test}: passed" for test in TESTS]
    assert told[3].startswith("the grading container was killed once")
    assert judge.num_containers == 2
    assert judge.tried == sorted([*TESTS, *([point] if point in TESTS else [])])


def test_a_silent_container_is_given_up_and_replaced(grade):
    """The judge has said by when it will have moved; the next one goes on."""
    told, judge = grade(in_container(1, "test_b", fell_silent))
    assert told[:3] == [f"{test}: passed" for test in TESTS]
    assert "the judge made no progress for 1 s (a case), so it was stopped" in told[3]
    assert judge.tried == ["test_a", "test_b", "test_b", "test_c"]


def test_a_test_that_kills_twice_is_no_zero(grade):
    """It is told as the grader's failure, with the reason; the rest is graded."""

    def dies(container, here, streams):
        if here == "test_b":
            killed(streams)

    told, judge = grade(dies)
    assert told[0] == "test_a: passed"
    assert told[1].startswith("test_b: the grading container was killed twice during this check")
    assert "exit code 137" in told[1]
    assert told[2] == "test_c: passed"
    assert judge.tried == ["test_a", "test_b", "test_b", "test_c"]


def test_four_containers_at_most(grade):
    """When every test kills, the last container only tells what is known."""

    def dies(container, here, streams):
        if here in TESTS:
            killed(streams)

    told, judge = grade(dies)
    assert judge.num_containers == 4
    assert judge.tried == ["test_a", "test_a", "test_b"]
    assert [line.split(": ", 1)[1].split(":")[0].split(" (")[0] for line in told[:3]] == [
        "the grading container was killed twice during this check",
        "not graded",
        "not graded",
    ]


def test_a_container_that_cannot_start_is_one_sentence(grade):
    """Tried twice, then told as it is."""
    judges = []

    def dies(container, here, streams):
        judges.append(container)
        killed(streams)

    with pytest.raises(GraderError, match="exit code 137"):
        grade(dies)
    assert judges == [1, 2]


def test_lines_that_only_look_like_the_journals_change_nothing(grade):
    """Nobody but the judge knows the key; and nothing of a journal is ever shown."""

    def forge(streams):
        line = journals.Journal(None, lambda line: streams.write(STDERR, line.encode() + b"\n"))
        for test in TESTS:
            result = TestResult(test, "s", Verdict.ACCEPTED, 100, 100)
            line.finished(Finished(Step("p", "test_p", "", test), result, "", None, 1))
        raise Ended(137)

    told, judge = grade(in_container(1, "test_b", forge))
    assert told[:3] == [f"{test}: passed" for test in TESTS]
    assert judge.tried == ["test_a", "test_b", "test_b", "test_c"]
