"""Attempts on processes: to look into others, to disturb them, to become root."""

import contextlib
import ctypes
import errno
import os
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .hostile_calling import checked, in_a_child, libc

_PTRACE_SEIZE = 0x4206
_MAX_SUID_PROGRAMS = 2


class _Piece(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("num_bytes", ctypes.c_size_t))


def try_reading_processes(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """No other process can be looked into: not the judge, not what starts the ranks."""
    for pid in foreign_processes():
        yield from _looking_into(pid, target["canary_address"])


def try_disturbing_processes(
    target: Mapping[str, Any],
) -> Iterator[tuple[str, Callable[[], object]]]:
    """No other process can be signalled, traced or taken from."""
    for pid in foreign_processes():
        yield f"signal process {pid}", partial(os.kill, pid, 0)
        yield f"trace process {pid}", partial(_trace, pid)
        yield f"offer process {pid} to the kernel", partial(_offer_when_memory_is_short, pid)
        yield f"lower process {pid}", partial(os.setpriority, os.PRIO_PROCESS, pid, 19)


def try_looking_into_a_rank(
    target: Mapping[str, Any],
) -> Iterator[tuple[str, Callable[[], object]]]:
    """A rank cannot look into another one."""
    yield from _looking_into(target["peer"], target["peer_address"])
    yield f"trace process {target['peer']}", partial(_trace, target["peer"])


def try_becoming_root(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """The run's user cannot become root."""
    yield "setuid(0)", partial(os.setuid, 0)
    yield "seteuid(0)", partial(os.seteuid, 0)
    yield "setgid(0)", partial(os.setgid, 0)
    yield "setgroups([0])", partial(os.setgroups, [0])
    for program in _suid_programs()[:_MAX_SUID_PROGRAMS]:
        yield f"run {program}", partial(_run_as_root, program)


def foreign_processes() -> list[int]:
    """Return every process of whom we are nothing in any respect."""
    ours = set(map(str, os.getresuid()))
    found = []
    for entry in sorted(os.listdir("/proc")):  # noqa: PTH208 - names are all we need
        if entry.isdigit():
            try:
                lines = Path(f"/proc/{entry}/status").read_text().splitlines()
            except OSError:
                continue
            users = next(line.split()[1:] for line in lines if line.startswith("Uid:"))
            if ours.isdisjoint(users):
                found.append(int(entry))
    return found


def _looking_into(pid: int, address: int) -> Iterator[tuple[str, Callable[[], object]]]:
    for name in ("environ", "maps", "auxv"):
        yield f"read /proc/{pid}/{name}", partial(_read_something, f"/proc/{pid}/{name}")
    for name in ("cwd", "root", "exe"):
        yield f"follow /proc/{pid}/{name}", Path(f"/proc/{pid}/{name}").readlink
    yield f"list /proc/{pid}/fd", partial(os.listdir, f"/proc/{pid}/fd")
    yield f"read the memory of process {pid}", partial(_read_memory, pid, address)
    yield f"copy the memory of process {pid}", partial(_copy_memory, pid, address)


def _read_something(file: str) -> None:
    """Raise OSError as well where nothing is there to be read.

    Of a process that has ended, and that nobody has waited for, the kernel lets anybody open what
    told of its memory: there is none, and what is read is empty.
    """
    if not Path(file).read_bytes():
        raise OSError(errno.ESRCH, "has ended")


def _read_memory(pid: int, address: int) -> None:
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        found = os.pread(memory, 1, address)
    except OSError:
        # Nothing at this address; but the memory was open to us.
        pass
    else:
        if not found:
            raise OSError(errno.ESRCH, "has ended")
    finally:
        os.close(memory)


def _copy_memory(pid: int, address: int) -> None:
    byte = ctypes.create_string_buffer(1)
    here = _Piece(ctypes.cast(byte, ctypes.c_void_p), 1)
    there = _Piece(address, 1)
    read = libc.process_vm_readv
    checked(read, pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)


def _trace(pid: int) -> None:
    # Does not stop the other, and ends with the thread that does it.
    in_a_child(partial(checked, libc.ptrace, _PTRACE_SEIZE, pid, None, None))


def trace_a_child() -> None:
    """Trace a process of our own, as debuggers do."""
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        checked(libc.ptrace, _PTRACE_SEIZE, child, None, None)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _offer_when_memory_is_short(pid: int) -> None:
    with open(f"/proc/{pid}/oom_score_adj", "w") as score:  # noqa: PTH123 - the kernel's
        score.write("1000")


def _suid_programs() -> list[str]:
    """Return programs that run as their owner, root."""
    with os.scandir("/usr/bin") as entries:
        return sorted(
            entry.path
            for entry in entries
            if not entry.is_symlink() and entry.stat().st_mode & stat.S_ISUID
        )


def _run_as_root(program: str) -> None:
    """Raise PermissionError when the program runs as the user who started it."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(  # noqa: S603 - one of the image's own
        [program], stdin=subprocess.PIPE, stdout=quiet, stderr=quiet
    )
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    users = next(line.split()[1:] for line in lines if line.startswith("Uid:"))
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(PermissionError):
        process.kill()
    process.wait()
    if "0" not in users:
        raise PermissionError(errno.EPERM, f"{program} ran as user {users[1]}")
