"""What a student sees while a grading goes on."""

import contextlib
import time

from grader.model.finding import Finding
from grader.model.report import TestResult, Verdict
from grader.recording.journal import Failing, Finished, Step
from grader.report.live import Live
from grader.report.terminal_page import Page, num_columns

WHY = Finding("ring.wrong", "recv[1] is 2; expected 3", {"place": "ring.py:7"})
HOLDS = TestResult("test_a", "holds", Verdict.ACCEPTED, 2, 2)
FAILS = TestResult("test_b", "fails", Verdict.WRONG_ANSWER, 0, 3, WHY.text, findings=(WHY,))
NOT_RUN = TestResult("test_c", "waits", Verdict.SKIPPED, 0, 1, "not run: this failed: b")
HIDDEN = TestResult("test_d", "nobody knows", Verdict.ACCEPTED, 1, 1, is_hidden=True)


def finished(result, replaced=""):
    return Finished(Step("ring", "test_ring", replaced, result.name), result, "", None, 1)


def shown(*results, is_terminal=True, plain=False):
    written = []
    page = Page(colour=False, plain=plain, width=60, verbose=False)
    with Live(page, written.append, is_terminal=is_terminal) as live:
        live.progress("ring: starting")
        for result in results or (HOLDS, FAILS, FAILS, NOT_RUN, HIDDEN):
            live.progress("ring  1 of 4 checks, 3 ranks")
            live.ended(finished(result))
    return "".join(written)


def test_the_first_failure_of_a_part_is_shown_at_once_and_others_are_counted():
    """In two lines, above a line that is overwritten; what holds is a count, too."""
    pieces = [piece for piece in shown().split("\r\x1b[K") if piece.strip()]
    first = "✗ ring: wrong answer at ring.py:7\n  recv[1] is 2; expected 3\n"
    assert pieces.count(first) == 1
    assert pieces[0] == "ring  starting  0:00"
    assert pieces[-1] == "✗ ring: 1 of 4 checks passed\n"
    assert "ring  1 of 4 checks, 3 ranks  [2 failed]  0:00" in pieces


def test_plain_overwrites_nothing():
    """No control characters at all: some terminals and all screen readers cannot follow."""
    text = shown(plain=True)
    assert "\x1b" not in text and "\r" not in text
    assert text.splitlines() == [
        *("x ring: wrong answer at ring.py:7", "  recv[1] is 2; expected 3"),
        "x ring: 1 of 4 checks passed",
    ]


def test_a_log_gets_a_line_when_a_part_ends():
    """And where it fails first; all the rest is in the report."""
    assert shown(HOLDS, is_terminal=False) == "✓ ring: 1 of 1 checks passed\n"


def test_the_clock_goes_on_while_nothing_is_told():
    """A part that computes for long is seen to be alive."""
    written = []
    with Live(Page(False, False, 60, False), written.append, is_terminal=True) as live:
        live.progress("ring: starting")
        before, deadline_s = len(written), time.monotonic() + 60
        while len(written) == before and time.monotonic() < deadline_s:
            time.sleep(0.05)
    assert written[before].startswith("\r\x1b[Kring  starting  0:0")


def test_the_line_is_left_to_what_is_printed():
    """Until there is something new."""
    written = []
    with Live(Page(False, False, 60, False), written.append, is_terminal=True) as live:
        live.progress("labels: 1 of 2")
        live.progress("")
        assert written[-1] == "\r\x1b[K"
        live.ended(finished(HOLDS))
        assert written[-1] == "\r\x1b[K"
        live.progress("labels: 2 of 2")
        assert "labels: 2 of 2" in written[-1]


def test_what_a_submission_says_is_no_command():
    """The log of a CI runner must not obey it."""
    why = Finding("x.y", "::error::no")
    result = TestResult("test_b", "fails", Verdict.WRONG_ANSWER, 0, 3, why.text, findings=(why,))
    text = shown(result, is_terminal=False)
    assert not [line for line in text.splitlines() if line.startswith("::")]


def test_a_part_that_is_graded_again_is_counted_anew():
    """With our stand-in it may hold; a check of no points decides nothing."""
    written = []
    free = TestResult("test_e", "is advice", Verdict.WRONG_ANSWER, 0, 0)
    with Live(Page(False, False, 60, False), written.append, is_terminal=False) as live:
        for result, replaced in ((FAILS, ""), (free, ""), (HOLDS, "naive"), (NOT_RUN, "naive")):
            live.ended(finished(result, replaced))
    assert written[-1] == "~ ring: 1 of 2 checks passed\n"


def test_an_error_takes_the_status_line_away():
    """And nothing is drawn after it."""
    written = []
    page = Page(False, False, 60, False)
    with contextlib.suppress(KeyError), Live(page, written.append, is_terminal=True) as live:
        live.progress("ring: starting")
        live.ended(finished(HOLDS))
        raise KeyError
    assert written[-1] == "\r\x1b[K"
    live.progress("ring  2 of 4 checks")
    assert written[-1] == "\r\x1b[K"


def test_ranks_that_fail_are_shown_before_their_test_ends():
    """And not again when it does; with a stand-in for another part nothing is shown."""
    written = []
    step = Step("ring", "test_ring", "", "test_b")
    with Live(Page(False, False, 60, False), written.append, is_terminal=False) as live:
        live.progress("ring: starting")
        live.ended(Failing(Step("ring", "test_ring", "tree", "test_b"), FAILS))
        assert not written
        live.ended(Failing(step, FAILS))
        live.ended(Finished(step, FAILS, "", None, 1))
    assert "".join(written).count("✗ ring: wrong answer at ring.py:7") == 1


def test_a_long_status_fits_whatever_its_characters_are_wide():
    """A line that wraps could not be overwritten; the clock is always there."""
    written = []
    with Live(Page(False, False, 40, False), written.append, is_terminal=True) as live:
        live.progress(f"ring  rank 0 still computing at {'環' * 40}.py:1")
    status = written[0].removeprefix("\r\x1b[K")
    assert status.endswith("  0:00") and num_columns(status) < 40
