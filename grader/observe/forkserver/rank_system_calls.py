"""The system calls by which a rank could reach another one past MPI or gloo: a second filter.

Where an address is in memory the filter cannot read it: which names and ports a socket may use is
then for Landlock to say (student_confinement).
"""

import errno
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_PROGRAMS = ("execve", "execveat")
"""Nothing of what watches a rank is in another program."""
_REFUSED = (
    *_PROGRAMS,
    # What others may look at: locks of files that all may read, cores, priority.
    *("flock", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"),
    *("setpriority", "ioprio_set"),
    # A rank that could be its own user and that of all in turn would leave files of both.
    *("setuid", "setreuid", "setresuid", "setfsuid", "setgroups"),
    *("setgid", "setregid", "setresgid", "setfsgid"),
    # What shows others at work: who opens a file, how much memory is left, which files are in it.
    *("inotify_init", "inotify_init1", "sysinfo", "mincore", "cachestat"),
    # What tells others something without a file: groups of processes, which anybody may ask for
    # by a number; taking a file out of memory; requests to files, of which all have so many.
    *("setpgid", "setsid", "pidfd_open", "fadvise64", "readahead", "io_setup"),
)
_DONE_BY_NOBODY = ("utime", "utimes", "futimesat", "utimensat")
"""Whoever may write to a file or folder may change its times: in /dev, /tmp and /dev/shm all may.
These seem to work, for who copies a file sets the times of the copy and minds an error."""
_CLOCKS = ("clock_gettime", "clock_getres", "clock_nanosleep", "timer_create")
_OF_A_PROCESS, _OF_A_THREAD = 1 << 31, 1 << 2
"""Bits of a clock's number. How long any process has computed can be asked; of threads, the kernel
shows only those of the process that asks."""
_FREE_SPACE = ("statfs", "fstatfs")
_LOCKS_AND_LEASES = (5, 6, 7, 36, 37, 38, 1024, 1026)
"""F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_SETLEASE, F_NOTIFY."""
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_DGRAM, _TYPES = 1, 2, 15
"""Two types of sockets, and the bits of a type that are no flags."""
_TCP, _UDP = 6, 17
"""Protocols; of the higher ones MPTCP reaches TCP's ports, and Landlock does not know it."""
_UNNAMED_NUM_BYTES = 2
"""Of an address that only says AF_UNIX: the kernel chooses a name that nobody has."""
_MSG_FASTOPEN = 0x20000000
"""Connects without asking Landlock."""
_LOW_HALF = 0xFFFFFFFF


@dataclass(frozen=True)
class Allowed:
    """What a rank may use, beyond what it has open."""

    connections: bool = False
    """New ones over TCP."""
    ports: bool = False
    """Ports of its own, to be connected to."""
    datagrams: bool = False
    """Sockets of UDP: MPI lists the interfaces with one when it starts."""
    local_sockets: bool = False
    """Sockets of AF_UNIX, which the kernel has to keep within the rank."""
    free_space: bool = False
    """How much space is left: MPI asks before it makes files."""


def filter_of_programs(library: Any) -> Any:
    """Return a filter for all threads of a rank that has no others, not loaded yet."""
    made, no = _for_all_threads(library), library.ERRNO(errno.EPERM)
    for name in _PROGRAMS:
        made.add_rule(no, name)
    return made


def filter_between_ranks(library: Any, allowed: Allowed) -> Any:
    """Return a filter for all threads of a rank, not loaded yet."""
    made, no = _for_all_threads(library), library.ERRNO(errno.EPERM)
    arg, masked = library.Arg, library.MASKED_EQ
    for name in _known(library, (*_REFUSED, *(() if allowed.free_space else _FREE_SPACE))):
        made.add_rule(no, name)
    for name in _known(library, _DONE_BY_NOBODY):
        made.add_rule(library.ERRNO(0), name)
    for name in _CLOCKS:
        made.add_rule(no, name, arg(0, masked, _OF_A_PROCESS | _OF_A_THREAD, _OF_A_PROCESS))
    # A flag tells whether the file is in memory, or keeps it out.
    made.add_rule(no, "preadv2", arg(5, library.NE, 0))
    for command in _LOCKS_AND_LEASES:
        made.add_rule(no, "fcntl", arg(1, masked, _LOW_HALF, command))
    for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        made.add_rule(no, name, arg(flags, masked, _MSG_FASTOPEN, _MSG_FASTOPEN))
    _refuse_sockets(made, library, allowed)
    if not allowed.connections and not allowed.local_sockets:
        for name in ("bind", "connect", "listen", "accept", "accept4"):
            made.add_rule(no, name)
    elif not allowed.ports:
        made.add_rule(no, "bind", arg(2, library.NE, _UNNAMED_NUM_BYTES))
    return made


def _for_all_threads(library: Any) -> Any:
    made = library.SyscallFilter(library.ALLOW)
    # MPI and torch have threads of their own by now.
    made.set_attr(library.Attr.CTL_TSYNC, 1)
    return made


def _known(library: Any, names: Iterable[str]) -> Iterator[str]:
    """Yield those that this architecture has, and this libseccomp knows."""
    arch = library.system_arch()
    return (name for name in names if library.resolve_syscall(arch, name) >= 0)


def _refuse_sockets(made: Any, library: Any, allowed: Allowed) -> None:
    arg, equal, no = library.Arg, library.EQ, library.ERRNO(errno.EPERM)
    refused = [] if allowed.local_sockets else [_AF_UNIX]
    refused += [] if allowed.connections else [_AF_INET, _AF_INET6, _AF_NETLINK]
    for family in refused:
        made.add_rule(no, "socket", arg(0, equal, family))
    if not allowed.connections:
        return
    kinds = {_SOCK_STREAM, _SOCK_DGRAM} if allowed.datagrams else {_SOCK_STREAM}
    highest = _UDP if allowed.datagrams else _TCP
    for family in (_AF_INET, _AF_INET6):
        for kind in set(range(_TYPES + 1)) - kinds:
            of_kind = arg(1, library.MASKED_EQ, _TYPES, kind)
            made.add_rule(no, "socket", arg(0, equal, family), of_kind)
        made.add_rule(no, "socket", arg(0, equal, family), arg(2, library.GT, highest))
    # Of netlink what lists the network interfaces; others pass messages between processes.
    made.add_rule(no, "socket", arg(0, equal, _AF_NETLINK), arg(2, library.NE, 0))
