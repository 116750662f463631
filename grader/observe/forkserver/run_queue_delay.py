"""How long the machine has kept a run waiting: its processes could have run, and others ran.

The kernel tells of each thread how long it ran, and how long it waited for a core (`schedstat` in
Linux's documentation of the scheduler). A run may ask for more cores than there are, as ranks that
poll do. Waiting for that reason is not delay by others, so a run is compared with what it
would get on an idle machine.

What ran is counted by process: threads and processes that come and go between two looks, seen by
none, are the run's own, too.
"""

import os
import resource
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_MIN_PAUSE_S = 0.25
_PAUSE_PER_COST = 40.0
"""On a desktop with many processes, looking at all of them may not become the work."""
_PROC = Path("/proc")

_CLOCK_OF_ALL_THREADS = 2
_CHILDREN_USER, _CHILDREN_SYSTEM = 13, 14
"""Where /proc/PID/stat has them, counted from the state of the process."""
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Times:
    """What the kernel tells of a process, all in nanoseconds."""

    ran: int = 0
    """All of its threads together, those that have ended too."""
    children_ran: int = 0
    """Those that have ended, and that it has waited for, with all that they have waited for."""
    waited: Mapping[int, int] = field(default_factory=dict)
    """For a core, by thread."""


_NEW = Times()


class RunQueueDelay:
    """Adds up the delay of a run, from looks a few times a second."""

    def __init__(self, num_cores: int) -> None:
        """num_cores: that the run may use."""
        self._num_cores = num_cores
        self._seen: dict[int, Times] = {}
        self._ended_ns = _ran_by_those_we_waited_for_ns()
        self._known_of_ended_ns = 0
        """What was seen of processes that are gone, and is still to be told of their parents."""
        self._looked_s = time.monotonic()
        self._next_s = self._looked_s + _MIN_PAUSE_S
        self.total_s = 0.0

    @property
    def is_due(self) -> bool:
        """Return whether it is time for another look."""
        return time.monotonic() >= self._next_s

    def look(self, pids: Collection[int]) -> None:
        """Take note of what these processes, which are all of the run, got and wanted.

        Those that have ended are among them, until somebody has waited for them.
        """
        began_s = time.monotonic()
        now = {pid: times for pid in pids if (times := _times_of(pid)) is not None}
        ended_ns = _ran_by_those_we_waited_for_ns()
        ran_ns, waited_ns, told_of_ended_ns = 0, 0, ended_ns - self._ended_ns
        for pid, times in now.items():
            # What is new began at zero, since the last look.
            before = self._seen.get(pid, _NEW)
            ran_ns += max(0, times.ran - before.ran)
            told_of_ended_ns += max(0, times.children_ran - before.children_ran)
            for thread, waited in times.waited.items():
                waited_ns += max(0, waited - before.waited.get(thread, 0))
        gone = (times for pid, times in self._seen.items() if pid not in now)
        known_ns = self._known_of_ended_ns + sum(each.ran + each.children_ran for each in gone)
        ran_ns += max(0, told_of_ended_ns - known_ns)
        self._known_of_ended_ns = max(0, known_ns - told_of_ended_ns)
        lasted_s = began_s - self._looked_s
        self.total_s += run_queue_delay_s(lasted_s, ran_ns / 1e9, waited_ns / 1e9, self._num_cores)
        self._seen, self._ended_ns, self._looked_s = now, ended_ns, began_s
        cost_s = time.monotonic() - began_s
        self._next_s = began_s + max(_MIN_PAUSE_S, cost_s * _PAUSE_PER_COST)


def run_queue_delay_s(lasted_s: float, ran_s: float, waited_s: float, num_cores: int) -> float:
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


def _ran_by_those_we_waited_for_ns() -> int:
    """Return how long our own children ran that have ended: what a run leaves behind is ours."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def _times_of(pid: int) -> Times | None:
    """Return what is told of a process; None of one that ends while we look."""
    folder = _PROC / str(pid)
    try:
        ran_ns = time.clock_gettime_ns((~pid << 3) | _CLOCK_OF_ALL_THREADS)
        # The name before it may have any character.
        told = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        waited_ns = {
            int(name): waited
            for name in os.listdir(folder / "task")  # noqa: PTH208 - many of them, often
            if (waited := _waited_ns(folder / "task" / name)) is not None
        }
    except (OSError, IndexError):
        return None
    children_ticks = int(told[_CHILDREN_USER]) + int(told[_CHILDREN_SYSTEM])
    return Times(ran_ns, children_ticks * _TICK_NS, waited_ns)


def _waited_ns(thread: Path) -> int | None:
    """Return how long a thread has waited; None of one that has ended, or where nobody tells."""
    try:
        return int((thread / "schedstat").read_bytes().split()[1])
    except (OSError, IndexError):
        return None
