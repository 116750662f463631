"""Draws one in so many of the tests that grade a whole submission, others in another turn."""

import zlib

_GRADING = (
    "test_submissions.py::test_submission_gets_its_verdict_for_the_right_reason[",
    "container/test_hostile.py::test_attack_gains_nothing[",
)


def is_drawn(test: str, *, turn: int, one_in: int) -> bool:
    """Return whether a test is run; test: its name from below `tests/`.

    Each one that grades a submission is drawn in exactly one of `one_in` turns, which come again
    and again; all others always.
    """
    return not test.startswith(_GRADING) or (zlib.crc32(test.encode()) - turn) % one_in == 0
