"""How long the machine has kept a run waiting: its processes could have run, and others ran.

The kernel tells of each thread how long it ran, and how long it waited for a core (`schedstat` in
Linux's documentation of the scheduler). A run may ask for more cores than there are, as ranks that
poll do. Waiting for that reason is not time denied by others, so a run is compared with what it
would get on an idle machine.
"""

import os
import time
from collections.abc import Collection
from pathlib import Path

_MIN_PAUSE_S = 0.25
_PAUSE_PER_COST = 40.0
"""On a desktop with many processes, looking at all of them may not become the work."""
_PROC = Path("/proc")

Thread = tuple[int, int]
"""Process and thread."""


class DeniedTime:
    """Adds up what a run was denied, from looks a few times a second."""

    def __init__(self, num_cores: int) -> None:
        """num_cores: that the run may use."""
        self._num_cores = num_cores
        self._seen: dict[Thread, tuple[int, int]] = {}
        self._looked_s = time.monotonic()
        self._next_s = self._looked_s + _MIN_PAUSE_S
        self.total_s = 0.0

    @property
    def is_due(self) -> bool:
        """Return whether it is time for another look."""
        return time.monotonic() >= self._next_s

    def look(self, pids: Collection[int]) -> None:
        """Take note of what these processes, which are all of the run, got and wanted."""
        began_s = time.monotonic()
        now = {thread: times for pid in pids for thread, times in _times_of(pid).items()}
        ran_ns = waited_ns = 0
        for thread, (ran, waited) in now.items():
            # A thread that is new began at zero, since the last look.
            ran_before, waited_before = self._seen.get(thread, (0, 0))
            ran_ns += max(0, ran - ran_before)
            waited_ns += max(0, waited - waited_before)
        lasted_s = began_s - self._looked_s
        self.total_s += denied_s(lasted_s, ran_ns / 1e9, waited_ns / 1e9, self._num_cores)
        self._seen, self._looked_s = now, began_s
        cost_s = time.monotonic() - began_s
        self._next_s = began_s + max(_MIN_PAUSE_S, cost_s * _PAUSE_PER_COST)


def denied_s(lasted_s: float, ran_s: float, waited_s: float, num_cores: int) -> float:
    """Return how much sooner a run would have come as far on an idle machine.

    ran_s, waited_s: of all its threads together, within the time of lasted_s: how long they were on
    a core, and how long they could have been and were not.
    """
    wanted_s = ran_s + waited_s
    # Of more threads than cores, some wait on an idle machine as well.
    possible_s = min(wanted_s, num_cores * lasted_s)
    if possible_s <= 0.0:
        return 0.0
    share = min(1.0, ran_s / possible_s)
    return min(lasted_s, wanted_s) * (1.0 - share)


def _times_of(pid: int) -> dict[Thread, tuple[int, int]]:
    """Return for each thread how long it ran and waited, in nanoseconds; none where nobody tells.

    A process may end while we look, and a kernel may be built to tell nothing.
    """
    found = {}
    try:
        for name in os.listdir(_PROC / str(pid) / "task"):  # noqa: PTH208 - many of them, often
            ran, waited, _ = (_PROC / str(pid) / "task" / name / "schedstat").read_bytes().split()
            found[pid, int(name)] = int(ran), int(waited)
    except (OSError, ValueError):
        pass
    return found
