"""Whether a process makes others wait: which locks it holds, and whether it sleeps."""

import contextlib
import gc
import os
import sys
import time
from multiprocessing import synchronize
from multiprocessing.process import BaseProcess
from pathlib import Path

_NOT_YOURS = ("observed", "torch", "waiting")


class Locks:
    """The locks of multiprocessing that this process has, and what it does with them.

    A lock knows how often its process has taken it and not given it back. So nothing is put in the
    place of a lock, and one that is held while a line is printed is not noticed: only those matter
    that are held when somebody looks.
    """

    def __init__(self):
        found = _of_multiprocessing()
        self._locks = [each for each in found if isinstance(each, _LOCKS)]
        inside = {
            id(value)
            for each in found
            if not isinstance(each, BaseProcess)
            for value in vars(each).values()
        }
        semaphores = [each for each in found if isinstance(each, synchronize.Semaphore)]
        # Who has waited for a Condition, an Event or a Barrier has taken this semaphore. The other
        # semaphores inside of such things, and of queues, are nobody's turn.
        waits = [each._wait_semaphore for each in found if isinstance(each, synchronize.Condition)]
        self._turns = [each for each in semaphores if id(each) not in inside] + waits
        self._taken = self._times_taken()

    def is_one_held(self):
        """Return whether this thread holds a lock, or this process that of a file."""
        return any(lock._semlock._is_mine() for lock in self._locks) or _holds_file_lock()

    def has_waited(self):
        """Return whether a turn has been taken, or waited for, since the last time of asking."""
        before, self._taken = self._taken, self._times_taken()
        return any(now > then for now, then in zip(self._taken, before, strict=True))

    def _times_taken(self):
        return [turn._semlock._count() for turn in self._turns]


_LOCKS = (synchronize.Lock, synchronize.RLock)


def _of_multiprocessing():
    """Return all objects whose classes multiprocessing has made, or are made from those."""
    is_one = {}
    found = []
    for each in gc.get_objects():
        kind = type(each)
        if kind not in is_one:
            is_one[kind] = hasattr(kind, "__dict__") and any(
                str(base.__module__).startswith("multiprocessing.") for base in kind.__mro__
            )
        if is_one[kind] and hasattr(each, "__dict__"):
            found.append(each)
    return found


def _holds_file_lock():
    """Return whether this process has locked a file, in whatever way: Linux tells.

    A lock that was taken before the processes were started keeps none of them waiting; they hold it
    together.
    """
    takers = set()
    try:
        descriptors = list(Path("/proc/self/fdinfo").iterdir())
    except PermissionError:  # a rank of MPI, which may neither look there nor lock a file
        return False
    for about in descriptors:
        with contextlib.suppress(OSError):  # the folder itself was open, and is not any more
            lines = about.read_text().splitlines()
            takers |= {line.split()[5] for line in lines if line.startswith("lock:")}
    return bool(takers & {str(os.getpid()), _UNKNOWN_TAKER})


_UNKNOWN_TAKER = "-1"
"""Of a lock that belongs to an open file."""


def place():
    """Return file and line of the innermost call that is neither torch's nor ours."""
    frame = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).split(".")[0] not in _NOT_YOURS:
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def activity(process):
    """Return (state, CPU time used so far) of a process by its id; None if there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    # Behind the name, which may hold anything, in parentheses: see proc(5).
    state, *numbers = text.rpartition(")")[2].split()
    return state, int(numbers[10]) + int(numbers[11])


def is_running(state):
    """Return whether a process in this state works, or would if it were given a core or a disk."""
    return state in ("R", "D")


_OWN_S = 0.2
"""Who takes no batch in so much time of its own has stopped: a batch takes some milliseconds."""
_OWN_IN_ALL_S = 0.2
"""Who rests so long during a few batches has waited before each, for a short time only."""
_MOST_OF_A_LOOK_S = 0.02
"""Who is at rest now may have worked for most of a longer time."""


class OwnTime:
    """How long a process has been asleep or on a core since its last batch, as far as was seen.

    Time in which it is ready to run, but others have the cores, is not its own; nor that in which
    something does so that it has started, such as a worker of its DataLoader.
    """

    def __init__(self, process, apart):
        """apart: processes that are none of its own, though it may have started them."""
        self.without_batch_s = self._in_all_s = 0.0
        self._apart = {*map(str, apart), str(os.getpid())}
        self._family = [str(process)]
        self._num_batches = 0
        self._before = None

    @property
    def has_stopped(self):
        """Whether it seems to wait, for one batch or for each of several."""
        return self.without_batch_s >= _OWN_S or self._in_all_s >= _OWN_IN_ALL_S

    def look(self, num_batches):
        """Add what has passed since the last look; num_batches: how many it has taken so far."""
        is_at_rest, cpu_s = _doings(self._family, self._apart)
        now_s = time.monotonic()
        was_at_rest, before_s, cpu_before_s = self._before or (False, now_s, cpu_s)
        on_core_s = max(0.0, cpu_s - cpu_before_s)
        own_s = now_s - before_s if is_at_rest and was_at_rest else on_core_s
        is_same_batch = num_batches == self._num_batches
        self.without_batch_s = self.without_batch_s + own_s if is_same_batch else 0.0
        if is_at_rest:
            self._in_all_s += min(now_s - before_s, _MOST_OF_A_LOOK_S)
        self._num_batches, self._before = num_batches, (is_at_rest, now_s, cpu_s)


def _doings(processes, apart):
    """Return whether none of these works, nor what they have started; and their CPU time."""
    is_at_rest, cpu_s = True, 0.0
    for process in processes:
        if process in apart:
            continue
        now = activity(process)
        cpu_s += now[1] / os.sysconf("SC_CLK_TCK") if now else 0.0
        for thread in _threads_of(process):
            state = activity(f"{process}/task/{thread}")
            started_at_rest, started_s = _doings(_started_by(process, thread), apart)
            is_at_rest &= started_at_rest and not (state and is_running(state[0]))
            cpu_s += started_s
    return is_at_rest, cpu_s


def _threads_of(process):
    try:
        return [thread.name for thread in Path(f"/proc/{process}/task").iterdir()]
    except OSError:
        return []


def _started_by(process, thread):
    try:
        return Path(f"/proc/{process}/task/{thread}/children").read_text().split()
    except OSError:
        return []


def has_ended(activity_of_it):
    """Return whether a process is gone, or only waits to be looked at by its parent."""
    return activity_of_it is None or activity_of_it[0] in ("Z", "X")
