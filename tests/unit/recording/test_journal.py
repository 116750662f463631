"""The journal: what the judge says comes to the client whole, and from nobody else."""

import io
import json
from dataclasses import replace

import pytest

from grader.model.errors import UsageError
from grader.model.evidence import CallSpan, Evidence, Timeline
from grader.model.report import RunFailure, TestResult, Verdict
from grader.recording.journal import (
    MAX_LINE_NUM_BYTES,
    PREFIX,
    Failing,
    Finished,
    Journal,
    Resume,
    Step,
    pack,
    parse,
    read,
)

STEP = Step("ring", "test_ring", "", "test_sum")
RESULT = TestResult("test_sum", "It sums.", Verdict.WRONG_ANSWER, 0, 6.0, "no", "d", "ranks=4")
FINISHED = Finished(
    STEP, RESULT, "test_sum", RunFailure(Verdict.DEADLOCK, "stuck"), 3, ("no ctypes",)
)


def said(act) -> tuple[str, str]:
    """Return the one line that a journal writes, without its prefix, and its key."""
    resume, lines = Resume(), []
    act(Journal(resume, lines.append))
    (line,) = lines
    assert line.startswith(PREFIX)
    assert line.isascii() and line.isprintable()
    return line.removeprefix(PREFIX), resume.key


def test_what_has_started_and_ended_arrives_as_it_was():
    """All fields, of the right types."""
    assert parse(*said(lambda journal: journal.started(STEP))) == STEP
    assert parse(*said(lambda journal: journal.finished(FINISHED))) == FINISHED
    failing = Failing(STEP, replace(RESULT, detail=""))
    assert parse(*said(lambda journal: journal.failing(failing))) == failing


def test_whatever_a_student_printed_stays_in_one_line():
    """Line ends, escapes and halves of characters are written as escapes."""
    nasty = 'a\njournal: {"key"\r\x1b[2J\ud800\u2028'
    result = TestResult("t", nasty, Verdict.ACCEPTED, 1, 1, nasty, nasty, nasty)
    finished = Finished(STEP, result, "", None, 0)
    assert parse(*said(lambda journal: journal.finished(finished))) == finished


def test_a_long_detail_is_cut_so_that_the_line_fits():
    """Never a line that the client would cut in the middle."""
    result = TestResult("t", "s", Verdict.WRONG_ANSWER, 0, 1, "m", "\U0001f600" * 300_000)
    line, key = said(lambda journal: journal.finished(Finished(STEP, result, "", None, 0)))
    assert len(PREFIX) + len(line) <= MAX_LINE_NUM_BYTES
    told = parse(line, key)
    assert isinstance(told, Finished)
    assert result.detail.startswith(told.result.detail) and told.result.detail


def test_what_ended_a_part_is_cut_as_well():
    """The last words of many ranks fill a line by themselves."""
    result = TestResult("t", "s", Verdict.RUN_TIME_ERROR, 0, 1, "m", "short")
    ended = RunFailure(Verdict.RUN_TIME_ERROR, "m", "\U0001f600" * 300_000)
    line, key = said(lambda journal: journal.finished(Finished(STEP, result, "", ended, 0)))
    assert len(PREFIX) + len(line) <= MAX_LINE_NUM_BYTES
    told = parse(line, key)
    assert isinstance(told, Finished) and told.ended is not None
    assert told.ended.message == "m"


def test_lines_without_the_key_are_nobodys():
    """Only judge and client know it; each grading has its own."""
    line, key = said(lambda journal: journal.finished(FINISHED))
    assert parse(line, Resume().key) is None
    assert parse(line.replace(key, ""), key) is None
    assert len({Resume().key for _ in range(9)}) == 9


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["finished"].pop("root"),
        lambda data: data["finished"]["result"].pop("points"),
        lambda data: data["finished"]["result"].update(points="6"),
        lambda data: data["finished"]["result"].update(points=float("inf")),
        lambda data: data["finished"]["result"].update(points=float("nan")),
        lambda data: data["finished"]["result"].update(points=-1),
        lambda data: data["finished"].update(num_launches=float("inf")),
        lambda data: data["finished"]["result"].update(verdict="EXCELLENT"),
        lambda data: data["finished"].update(step=3),
        lambda data: data.pop("finished"),
    ],
)
def test_a_broken_line_tells_nothing(change):
    """It is as if the test had not ended."""
    line, key = said(lambda journal: journal.finished(FINISHED))
    data = json.loads(line)
    change(data)
    assert parse(json.dumps(data), key) is None


@pytest.mark.parametrize("line", ["", "{", "[]", "3", "null", "[" * 100_000])
def test_no_json_tells_nothing(line):
    """A line that broke off, for instance."""
    assert parse(line, "key") is None


def test_a_resume_arrives_as_it_was():
    """Through the container's standard input, with more behind it."""
    resume = Resume("k", (FINISHED,), ((STEP, "killed twice"),), "gave up", ("a note",))
    stream = io.BytesIO(pack(resume) + b"more")
    assert read(stream) == resume
    assert stream.read() == b"more"


@pytest.mark.parametrize("data", [b"", b"\0" * 8, b"\0\0\0\0\0\0\0\x02{}", b"\xff" * 20])
def test_anything_else_is_bad_usage(data):
    """One sentence, no traceback."""
    with pytest.raises(UsageError, match="journal"):
        read(io.BytesIO(data))


def test_the_judge_finds_what_is_known_of_its_tests():
    """Those that have ended, those that are lost, and why nothing is tried any more."""
    other = Step("ring", "test_ring", "below", "test_sum")
    journal = Journal(Resume("k", (FINISHED,), ((other, "twice"),)))
    assert journal.kept({STEP, other}) == [FINISHED]
    assert journal.kept({other}) == []
    assert (journal.why_lost(other), journal.why_lost(STEP)) == ("twice", "")
    assert Journal(Resume("k", gave_up="enough")).why_lost(STEP) == "enough"


def test_evidence_that_would_make_a_line_too_long_is_left_out_of_it():
    """The test then has its verdict after a container died, and no picture."""
    spans = tuple(
        CallSpan(0, "Isend" * 40, "ring.py:1" * 20, "send", 0.0, 1.0, "x" * 400) for _ in range(500)
    )
    small = Evidence("2 ranks, small", 2)
    large = replace(small, timeline=Timeline(spans, ()))
    for evidence, kept in ((small, small), (large, None)):
        lines = []
        result = TestResult("test_a", "A.", Verdict.DEADLOCK, 0, 1, evidence=evidence)
        resume = Resume()
        step = Step("part", "suite", "", "test_a")
        Journal(resume, lines.append).finished(Finished(step, result, "", None, 1))
        assert len(lines[0]) <= MAX_LINE_NUM_BYTES
        told = parse(lines[0].removeprefix(PREFIX), resume.key)
        assert told.result.evidence == kept
