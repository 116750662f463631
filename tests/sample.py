"""Draws one in so many of the tests that grade a whole submission, others at another commit."""

import subprocess
import zlib
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_GRADING = (
    "test_submissions.py::test_submission_gets_its_verdict_for_the_right_reason[",
    "container/test_hostile.py::test_attack_gains_nothing[",
)


def turn_of_commit(one_in: int) -> int:
    """Return which share of the tests is drawn at this commit; the first where git knows none."""
    asked = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    return int(asked.stdout, 16) % one_in if asked.returncode == 0 else 0


def is_drawn(test: str, turn: int, one_in: int) -> bool:
    """Return whether a test is run; test: its name from below `tests/`.

    Each one that grades a submission is drawn in exactly one of `one_in` turns, all others always.
    """
    return not test.startswith(_GRADING) or zlib.crc32(test.encode()) % one_in == turn
