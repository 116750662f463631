"""What a process of a run may still do: another user, limits, no way back."""

import contextlib
import ctypes
import os
import resource
import signal
from dataclasses import dataclass

from .run_users import RunUsers
from .system_calls import SystemCallFilter

_MAX_FILE_NUM_BYTES = 256 << 20
_MAX_OPEN_FILES = 1024
_MAX_PENDING_SIGNALS = 1024
_NUM_PROCESSES = 64
_NUM_PROCESSES_PER_RANK = 24
"""MPI takes a placeholder and three threads a rank; one for each of 15 others is usual."""
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_prctl = ctypes.CDLL(None, use_errno=True).prctl


@dataclass(frozen=True)
class Sealed:
    """What holds a run of a user of its own, beyond the limits that every run has."""

    users: RunUsers
    system_calls: SystemCallFilter

    def limits(self, rank: int | None) -> tuple[tuple[int, int], ...]:
        """Return the resource limits, which the user's own desktop must not have.

        rank: who has a user to itself; None for what the first user starts.
        """
        ranks = max(1, self.users.ranks) if rank is None else 1
        processes = _NUM_PROCESSES + _NUM_PROCESSES_PER_RANK * ranks
        return (
            (resource.RLIMIT_NPROC, processes),
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_MSGQUEUE, 0),
            (resource.RLIMIT_SIGPENDING, _MAX_PENDING_SIGNALS),
            (resource.RLIMIT_NICE, 0),
            (resource.RLIMIT_RTPRIO, 0),
        )


def adopt_orphans() -> None:
    """Make every descendant that loses its parent our child, so that none gets out of sight.

    Raises OSError where the system cannot (Linux before 3.4).
    """
    if _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this system does not support child subreapers")


def die_with(parent: int) -> None:
    """End as soon as this process does, which has just forked us."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(127)


def confine(
    sealed: Sealed | None,
    memory_num_bytes: int,
    output: int,
    parent: int,
    rank: int | None = None,
) -> None:
    """Turn a process just forked into one of a run.

    sealed: None for a run of the user we are. memory_num_bytes: private writable memory it may add
    to what it has. output: descriptor that standard output and error go to. All other descriptors
    are closed. parent: whose end is to be ours. rank: which one it is, where that has a user of its
    own.
    """
    os.setsid()
    os.umask(0o077)
    signal.set_wakeup_fd(-1)
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM):
        signal.signal(ignored, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(nothing, 0)
    _close_all_from(3)
    for kind, number in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, _data_num_bytes() + memory_num_bytes),
        (resource.RLIMIT_FSIZE, _MAX_FILE_NUM_BYTES),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
        *(sealed.limits(rank) if sealed is not None else ()),
    ):
        hard = resource.getrlimit(kind)[1]
        limit = number if hard == resource.RLIM_INFINITY else min(number, hard)
        resource.setrlimit(kind, (limit, limit))
    # Where memory runs out, a rank is to go, not the judge.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:  # noqa: PTH123 - the kernel's
        score.write("1000")
    if sealed is not None:
        sealed.users.begin(rank)
    _set(_PR_SET_NO_NEW_PRIVS, 1)
    # A change of user has undone this.
    _set(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise ProcessLookupError("the parent process has ended")
    if sealed is not None:
        # Nobody of the same user looks into a rank: what its neighbour was given is not its own.
        _set(_PR_SET_DUMPABLE, 0)
        sealed.system_calls.put_on()


def _close_all_from(first: int) -> None:
    """Close every descriptor from this one on, whatever limits there have been on their number."""
    with os.scandir("/proc/self/fd") as entries:
        last = max(int(entry.name) for entry in entries)
    os.closerange(first, last + 1)


def _set(option: int, value: int) -> None:
    if _prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value}) was refused")


def be_alone(sealed: Sealed, rank: int) -> None:
    """Be the user of this rank and nobody else, for good."""
    sealed.users.part(rank)
    # A change of user has undone these.
    _set(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _set(_PR_SET_DUMPABLE, 0)


def _data_num_bytes() -> int:
    """Return our private writable memory: what a forked rank starts with."""
    with open("/proc/self/status") as status:  # noqa: PTH123 - one line of a file of the kernel's
        line = next(line for line in status if line.startswith("VmData:"))
    return int(line.split()[1]) << 10
