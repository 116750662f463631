"""Memory of a run that has no control group of its own, from what /proc tells of its processes."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from .processes import descendants

_MIN_PAUSE_S = 0.05
_PAUSE_PER_COST = 20.0
"""On a desktop with many processes, looking at all of them may not become the work."""
_PAGE_NUM_BYTES = os.sysconf("SC_PAGE_SIZE")


class MemoryOfDescendants:
    """What every process below this one adds to what it was forked with."""

    def __init__(self, limit_num_bytes: int) -> None:
        self._limit_num_bytes = limit_num_bytes
        self._next_s = 0.0
        # What was imported before a fork is shared; it counts as ours.
        self._inherited_num_bytes = private_num_bytes(os.getpid())

    def excess_num_bytes(self) -> int | None:
        """Return what is used if that is more than allowed; looks only now and then."""
        started_s = time.monotonic()
        if started_s < self._next_s:
            return None
        pids = descendants(os.getpid())
        used = self._used(pids)
        cost_s = time.monotonic() - started_s
        self._next_s = started_s + max(_MIN_PAUSE_S, cost_s * _PAUSE_PER_COST)
        return used if used > self._limit_num_bytes else None

    def _used(self, pids: Sequence[int]) -> int:
        counted = sum(max(0, private_num_bytes(pid) - self._inherited_num_bytes) for pid in pids)
        if counted <= self._limit_num_bytes:
            return counted
        # Pages that a rank shares with processes it forked were counted for each of them. Finding
        # out takes long, and is not possible with processes that may not be looked into.
        shares = [_proportional_num_bytes(pid) for pid in pids]
        known = [share for share in shares if share is not None]
        return min(counted, sum(known)) if len(known) == len(shares) else counted


def private_num_bytes(pid: int) -> int:
    """Return the memory of a process without what it maps from files, such as libraries."""
    try:
        text = Path(f"/proc/{_thread_of(pid)}/statm").read_text()
        resident, shared = map(int, text.split()[1:3])
    except (OSError, ValueError):
        return 0
    return (resident - shared) * _PAGE_NUM_BYTES


def _thread_of(pid: int) -> int:
    """Return a thread that is told the memory of its process: not a first one that has ended.

    Raises OSError when there is no such process.
    """
    if Path(f"/proc/{pid}/statm").read_text().split()[0] != "0":
        return pid
    return max(int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir())


def _proportional_num_bytes(pid: int) -> int | None:
    """Return the same, each page divided by how many share it; None if nobody tells."""
    try:
        lines = Path(f"/proc/{_thread_of(pid)}/smaps_rollup").read_text().splitlines()
    except FileNotFoundError:
        return 0 if not Path(f"/proc/{pid}").exists() else None
    except ProcessLookupError:
        return 0
    except OSError:
        return None
    found = [line.split() for line in lines if line.startswith("Pss_Anon:")]
    return int(found[0][1]) << 10 if found else None
