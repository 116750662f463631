"""What the process that reads a submission may still do: read, and answer on its pipe."""

import contextlib
import ctypes
import os
import resource
import signal
import sys

MEMORY_NUM_BYTES = 1 << 30
CPU_TIME_S = 60
_MAX_OPEN_FILES = 32
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38


def confine(uid: int | None) -> None:
    """Give up everything that reading does not need, for good.

    uid: the user to become; None to stay who we are. Raises OSError when that is refused.
    """
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    for kind, limit in (
        (resource.RLIMIT_AS, MEMORY_NUM_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, CPU_TIME_S),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
        (resource.RLIMIT_NPROC, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        number = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        # Above the soft limit of processor time comes a signal of its own, at the hard one a kill.
        above = number + 1 if kind == resource.RLIMIT_CPU and number == limit else number
        # Some systems (macOS) take no limit of memory.
        with (
            contextlib.suppress(ValueError, OSError)
            if kind == resource.RLIMIT_AS
            else (contextlib.nullcontext())
        ):
            resource.setrlimit(kind, (number, above))
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        # Each is undone by a change of user, so that these come last.
        for option, value in (
            (_PR_SET_NO_NEW_PRIVS, 1),
            (_PR_SET_PDEATHSIG, signal.SIGKILL),
            (_PR_SET_DUMPABLE, 0),
        ):
            if prctl(option, int(value), 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), f"prctl({option}) is refused")
