"""What a process of a run may still do: another user, limits, no way back."""

import contextlib
import ctypes
import os
import resource
import signal

_MAX_FILE_NUM_BYTES = 256 << 20
_MAX_OPEN_FILES = 1024
_NOBODY_ELSE = 19_999
"""A user that no run has."""
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def adopt_orphans() -> None:
    """Make every descendant that loses its parent our child, so that none gets out of sight.

    Raises OSError where the system cannot (Linux before 3.4).
    """
    if _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this system has no child subreaper")


def confine(uid: int | None, memory_num_bytes: int, output: int) -> None:
    """Turn a process just forked into one of a run.

    uid: the user to become; None to stay who we are. memory_num_bytes: private writable memory it
    may add to what it has. output: descriptor that standard output and error go to. All other
    descriptors are closed.
    """
    os.setsid()
    signal.set_wakeup_fd(-1)
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(ignored, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(nothing, 0)
    os.closerange(3, 1 << 16)
    for kind, number in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, _data_num_bytes() + memory_num_bytes),
        (resource.RLIMIT_FSIZE, _MAX_FILE_NUM_BYTES),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
    ):
        hard = resource.getrlimit(kind)[1]
        limit = number if hard == resource.RLIM_INFINITY else min(number, hard)
        resource.setrlimit(kind, (limit, limit))
    # Where memory runs out, a rank is to go, not the judge.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:  # noqa: PTH123 - the kernel's
        score.write("1000")
    if uid is not None:
        _become(uid)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Both are undone by a change of user. Without the second, a rank may not look at itself, and
    # MPI could not copy from one rank's memory to another's.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def _become(uid: int) -> None:
    """Be this user and nobody else for good."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def act_for(uid: int) -> None:
    """Do from now on what this user may, while nothing of this user's may signal us.

    Who may signal a process goes by its real and saved user, what it may do by the effective one.
    """
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(_NOBODY_ELSE, uid, _NOBODY_ELSE)


def _data_num_bytes() -> int:
    """Return our private writable memory: what a forked rank starts with."""
    with open("/proc/self/status") as status:  # noqa: PTH123 - one line of a file of the kernel's
        line = next(line for line in status if line.startswith("VmData:"))
    return int(line.split()[1]) << 10
