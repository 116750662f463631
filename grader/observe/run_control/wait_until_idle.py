"""Waits until other programs leave the machine alone, so that a starved run can be tried again."""

import time
from collections.abc import Sequence
from pathlib import Path

_LOOK_S = 0.5
_QUIET_SHARE = 0.5
_IDLE = 3
_NUM_STATES = 8
"""What /proc/stat tells after these is part of them."""


def wait_until_idle(limit_s: float) -> None:
    """Wait until half of the machine is idle, or for limit_s; not where nobody knows."""
    until_s = time.monotonic() + limit_s
    before = _ticks()
    while before and time.monotonic() < until_s:
        time.sleep(_LOOK_S)
        after = _ticks()
        if idle_share(before, after) >= _QUIET_SHARE:
            return
        before = after


def idle_share(before: Sequence[int], after: Sequence[int]) -> float:
    """Return how much of the time between two looks all cores together had nothing to do.

    before, after: what /proc/stat counts for them, in its order: user, nice, system, idle, ...
    """
    passed = [late - early for early, late in zip(before, after, strict=False)]
    return passed[_IDLE] / sum(passed) if sum(passed) > 0 else 1.0


def _ticks() -> list[int]:
    try:
        line = Path("/proc/stat").read_text().splitlines()[0]
    except OSError:
        return []
    return [int(number) for number in line.split()[1 : 1 + _NUM_STATES]]
