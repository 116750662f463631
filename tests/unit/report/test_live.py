"""What a student sees while a grading goes on."""

from grader.model import TestResult, Verdict
from grader.report.live import Live
from grader.report.page import Page

HOLDS = TestResult("test_a", "It holds.", Verdict.ACCEPTED, 2, 2)
FAILS = TestResult("test_b", "It fails.", Verdict.WRONG_ANSWER, 0, 3, "recv[1] is 2, expected 3")
NOT_RUN = TestResult("test_c", "It waits.", Verdict.SKIPPED, 0, 1, "not run: this failed: b")
HIDDEN = TestResult("test_d", "Nobody knows.", Verdict.ACCEPTED, 1, 1, is_hidden=True)


def shown(*, is_terminal=True, plain=False):
    written = []
    page = Page(colour=False, plain=plain, width=60, verbose=False)
    live = Live(page, written.append, is_terminal=is_terminal)
    live.progress("ring: starting")
    for result in (HOLDS, FAILS, NOT_RUN, HIDDEN):
        live.progress("part 1 of 2, ring: test 1 of 4, 3 ranks")
        live.finished("ring", result)
    live.close()
    return "".join(written)


def test_each_test_is_shown_as_soon_as_it_is_known_above_a_line_that_is_overwritten():
    """With its points, and why it does not hold; what was not run and what is hidden is not."""
    pieces = [piece for piece in shown().split("\r\x1b[K") if piece.strip()]
    assert pieces == [
        "ring: starting",
        *["part 1 of 2, ring: test 1 of 4, 3 ranks", "ring\n✓ +2    It holds.\n"],
        "part 1 of 2, ring: test 1 of 4, 3 ranks",
        "✗ -3    It fails.\n        recv[1] is 2, expected 3\n",
        *["part 1 of 2, ring: test 1 of 4, 3 ranks"] * 2,
    ]


def test_plain_overwrites_nothing():
    """No control characters at all: some terminals and all screen readers cannot follow."""
    text = shown(plain=True)
    assert "\x1b" not in text and "\r" not in text
    assert text.splitlines()[:3] == ["grading ring", "ring", "+ +2    It holds."]


def test_a_log_gets_a_line_a_part():
    """All the rest is in the report."""
    assert shown(is_terminal=False) == "grading ring\n"
