"""The system calls that no process of a run needs, and no rank: the kernel refuses them by seccomp.

Everything else is allowed; a list of what torch, MPI and Python need would break with any update.
"""

import errno
import importlib
from types import ModuleType
from typing import Any

_NOT_PERMITTED = (
    # Other processes: their memory, descriptors and secrets.
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease"),
    *("pidfd_getfd", "kcmp"),
    # Namespaces and mounts.
    *("unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "mount_setattr"),
    *("open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick"),
    # Files by handle, past the folders that lead to them.
    *("name_to_handle_at", "open_by_handle_at"),
    # Other behaviour of the kernel, and its more fragile corners.
    *("personality", "bpf", "perf_event_open", "userfaultfd", "fanotify_init", "fanotify_mark"),
    *("modify_ldt", "uselib", "acct", "quotactl", "quotactl_fd", "swapon", "swapoff", "reboot"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "syslog"),
)
_NOT_THERE = (
    # Answered as by an older kernel, so that libraries take what they took there.
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"),
    # Memory that has no name and no limit but the container's.
    *("memfd_create", "memfd_secret"),
    # What outlives a process: keys, System V IPC, message queues.
    *("add_key", "request_key", "keyctl"),
    *("shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop"),
    *("msgget", "msgsnd", "msgrcv", "msgctl"),
    *("mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr"),
)
_NOT_FOR_RANKS = (
    # Nothing of what watches a rank is in another program.
    *("execve", "execveat"),
    # A rank that could be its own user and that of all in turn would leave files of both.
    *("setuid", "setreuid", "setresuid", "setfsuid", "setgroups"),
    *("setgid", "setregid", "setresgid", "setfsgid"),
    # What tells another rank something without a message: groups of processes, locks, priority,
    # who opens a file, which files are in memory, how many requests to files there are.
    *("setpgid", "setsid", "pidfd_open", "flock", "setpriority", "ioprio_set", "io_setup"),
    *("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"),
    *("inotify_init", "inotify_init1", "sysinfo", "mincore", "cachestat", "fadvise64", "readahead"),
)
_NETWORK_FAMILIES = (2, 10, 16)
"""AF_INET, AF_INET6, and AF_NETLINK, by which C libraries list the network interfaces."""
_SOCKET_FAMILIES = frozenset({1, *_NETWORK_FAMILIES})
"""These and AF_UNIX."""
_CLONE_NEW = (1 << 17, *(1 << bit for bit in range(25, 31)))
"""CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_PR_SET_DUMPABLE, _PR_SET_PTRACER = 4, 0x59616D61
_SOL_SOCKET, _SO_LINGER = 1, 13
_LOW_HALF = 0xFFFFFFFF
"""What the kernel looks at of an argument that C declares as int."""


class NoFilter(Exception):
    """This system cannot filter system calls; the message is a sentence that says what to do."""


class SystemCallFilter:
    """The filter, made once; each process of a run puts it on for good, with all its children."""

    def __init__(self) -> None:
        """Raises NoFilter where the library is missing or too old."""
        library = _library()
        try:
            self._library, self._filter = library, _made(library)
        except OSError as error:
            raise NoFilter(
                f"libseccomp cannot make the system call filter ({error}); "
                "version 2.5 or newer is needed"
            ) from None

    def put_on(self) -> None:
        """Refuse this process, from now on, what no run needs; raises OSError on failure."""
        self._filter.load()

    def put_on_rank(self, *, has_sockets: bool) -> None:
        """Refuse, to all threads of this rank, other programs and users; OSError on failure.

        has_sockets: whether it may make sockets of the network, as gloo needs them.
        """
        library = self._library
        made = library.SyscallFilter(library.ALLOW)
        # MPI and torch have threads of their own by now.
        made.set_attr(library.Attr.CTL_TSYNC, 1)
        no, arch = library.ERRNO(errno.EPERM), library.system_arch()
        for name in _NOT_FOR_RANKS:
            if library.resolve_syscall(arch, name) >= 0:
                made.add_rule(no, name)
        for family in () if has_sockets else _NETWORK_FAMILIES:
            made.add_rule(no, "socket", library.Arg(0, library.EQ, family))
        made.load()


def refused(library: ModuleType) -> dict[str, int]:
    """Return the error for each call that is refused whatever its arguments, where it exists.

    Of the architectures that we serve, one has calls that the other never had.
    """
    errors = dict.fromkeys(_NOT_PERMITTED, errno.EPERM) | dict.fromkeys(_NOT_THERE, errno.ENOSYS)
    arch = library.system_arch()
    return {name: code for name, code in errors.items() if library.resolve_syscall(arch, name) >= 0}


def _library() -> ModuleType:
    try:
        return importlib.import_module("pyseccomp")
    except ImportError:
        raise NoFilter(
            "system calls cannot be filtered: the package pyseccomp is missing; "
            "build the image again with `make image`"
        ) from None
    except RuntimeError:
        raise NoFilter(
            "system calls cannot be filtered: the C library libseccomp is missing; "
            "install it (Debian: apt install libseccomp2) or build the image again"
        ) from None


def _made(library: Any) -> Any:
    arg = library.Arg
    made = library.SyscallFilter(library.ALLOW)
    # 32-bit programs and x32 have numbers of their own, under which nothing would be refused.
    made.set_attr(library.Attr.ACT_BADARCH, library.KILL_PROCESS)
    for name, code in refused(library).items():
        made.add_rule(library.ERRNO(code), name)
    no_family = library.ERRNO(errno.EAFNOSUPPORT)
    highest = max(_SOCKET_FAMILIES)
    for name in ("socket", "socketpair"):
        made.add_rule(no_family, name, arg(0, library.GT, highest))
        for family in sorted(set(range(highest)) - _SOCKET_FAMILIES):
            made.add_rule(no_family, name, arg(0, library.EQ, family))
    no = library.ERRNO(errno.EPERM)
    for flag in _CLONE_NEW:
        made.add_rule(no, "clone", arg(0, library.MASKED_EQ, flag, flag))
    for command in (_TIOCSTI, _TIOCLINUX):
        made.add_rule(no, "ioctl", arg(1, library.MASKED_EQ, _LOW_HALF, command))
    # A rank that may be looked into would show the others' inputs to a process it starts.
    dumpable = arg(0, library.MASKED_EQ, _LOW_HALF, _PR_SET_DUMPABLE)
    made.add_rule(no, "prctl", dumpable, arg(1, library.NE, 0))
    made.add_rule(no, "prctl", arg(0, library.MASKED_EQ, _LOW_HALF, _PR_SET_PTRACER))
    # Whoever closes a socket that lingers waits for it: that need not be who has made it.
    of_sockets = arg(1, library.MASKED_EQ, _LOW_HALF, _SOL_SOCKET)
    made.add_rule(no, "setsockopt", of_sockets, arg(2, library.MASKED_EQ, _LOW_HALF, _SO_LINGER))
    return made
