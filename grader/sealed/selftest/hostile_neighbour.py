"""Attempts on another rank, of a rank that MPI connects: by files, system calls and what is shown.

What holds for any process of a run is tried elsewhere; here is what a rank loses once it is
connected, before a submission's first line.
"""

import ctypes
import fcntl
import os
import resource
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from .hostile_calling import checked, in_a_child, libc, make_file

KEPT = "kept"
"""The file that the other rank has in its folder."""
_LONG_ENOUGH_NUM_BYTES = 4096
"""For what the kernel tells of a machine."""


def try_folder_of_the_other(
    target: Mapping[str, Any],
) -> Iterator[tuple[str, Callable[[], object]]]:
    """The folder of a rank is closed to the others."""
    folder = target["other_folder"]
    yield "list it", partial(os.listdir, folder)
    yield "look at a file in it", partial(os.stat, f"{folder}/{KEPT}")
    yield "read a file in it", partial(_read, f"{folder}/{KEPT}")
    yield "write into it", partial(make_file, f"{folder}/from-another-rank")


def try_calls_between_ranks(
    target: Mapping[str, Any],
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Ranks that MPI connects have no system call to tell each other anything."""
    shared = target["shared"]
    yield "a socket of TCP", partial(socket.socket, socket.AF_INET, socket.SOCK_STREAM)
    yield "a socket of UDP", partial(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
    yield "another program", partial(in_a_child, partial(os.execv, "/bin/true", ["true"]))
    yield "lock a file", partial(_lock, fcntl.flock, shared)
    yield "lock a part of a file", partial(_lock, fcntl.lockf, shared)
    yield "a group of processes", partial(in_a_child, partial(os.setpgid, 0, 0))
    yield "a session", partial(in_a_child, os.setsid)
    yield "be another user", partial(in_a_child, partial(os.setuid, os.getuid()))
    yield "a priority", partial(in_a_child, partial(os.setpriority, os.PRIO_PROCESS, 0, 19))
    cores = os.sched_getaffinity(0)
    yield "its cores", partial(in_a_child, partial(os.sched_setaffinity, 0, cores))


def try_looking_at_the_other(
    target: Mapping[str, Any],
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Ranks that MPI connects see nothing of each other at work."""
    other = target["other"]
    yield "signal it", partial(os.kill, other, 0)
    yield "a descriptor of it", partial(_closed, partial(os.pidfd_open, other))
    yield "its limits", partial(resource.prlimit, other, resource.RLIMIT_NOFILE)
    yield "how long it has computed", partial(time.clock_gettime, ~other << 3 | 2)
    yield "free space", partial(os.statvfs, "/")
    told = ctypes.create_string_buffer(_LONG_ENOUGH_NUM_BYTES)
    yield "free memory", partial(checked, libc.sysinfo, told)
    yield "who opens a file", partial(_closed, partial(checked, libc.inotify_init))


def _closed(make: Callable[[], int]) -> None:
    os.close(make())


def _read(path: str) -> None:
    with open(path, "rb") as file:  # noqa: PTH123 - the plainest way
        file.read(1)


def _lock(lock: Callable[[int, int], object], path: str) -> None:
    with open(path, "rb") as file:  # noqa: PTH123 - the plainest way
        lock(file.fileno(), fcntl.LOCK_SH)
