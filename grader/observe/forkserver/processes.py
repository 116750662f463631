"""What /proc tells of processes, read where nothing of it needs the right to trace them."""

import contextlib
import os
import signal
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

_ENDED, _RUNNING = "ZX", "R"
_PROC = Path("/proc")
_MAX_LINE_NUM_BYTES = 4096


@dataclass(frozen=True)
class Process:
    """A process as its line in /proc has it."""

    pid: int
    parent: int
    has_ended: bool
    """Only its entry is left, until its parent takes note."""
    is_running: bool
    """Its first thread is on a core, or waits for one."""


def all_processes() -> list[Process]:
    """Return every process that still has an entry."""
    found = []
    for name in os.listdir(_PROC):  # noqa: PTH208 - a path object for every process is slow
        if name.isdigit() and (process := _process(int(name))) is not None:
            found.append(process)
    return found


def is_alive(pid: int) -> bool:
    """Return whether there is such a process, and it has not ended."""
    process = _process(pid)
    return process is not None and not process.has_ended


def descendants(ancestor: int, *, with_ended: bool = False) -> list[int]:
    """Return every process below this one that has not ended, or that has an entry at all."""
    processes = all_processes()
    tree = {ancestor}
    grew = True
    while grew:
        grew = False
        for process in processes:
            if process.parent in tree and process.pid not in tree:
                tree.add(process.pid)
                grew = True
    return [
        each.pid
        for each in processes
        if each.pid in tree - {ancestor} and (with_ended or not each.has_ended)
    ]


def is_running(pid: int) -> bool:
    """Return whether there is such a process, and it computes."""
    process = _process(pid)
    return process is not None and process.is_running


def handles(pid: int, number: int) -> bool:
    """Return whether a process does something of its own on a signal, and is not ended by it."""
    try:
        status = (_PROC / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return False
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:")).split()[1]
    return bool(int(caught, 16) >> (number - 1) & 1)


def is_below(pid: int, ancestor: int) -> bool:
    """Return whether this process was started by that one, or by one it started."""
    seen = set()
    while pid not in seen and (process := _process(pid)) is not None:
        seen.add(pid)
        pid = process.parent
        if pid == ancestor:
            return True
    return False


def owned_by(uids: Collection[int]) -> list[int]:
    """Return every process but ourselves that is one of these users in any respect, and not ended.

    By its status, which also tells of the user that it is only in part.
    """
    found, wanted = [], set(map(str, uids))
    for process in all_processes():
        if process.has_ended or process.pid == os.getpid():
            continue
        try:
            status = (_PROC / str(process.pid) / "status").read_text(errors="replace")
        except OSError:
            continue
        users = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
        if not wanted.isdisjoint(users):
            found.append(process.pid)
    return found


def _process(pid: int) -> Process | None:
    try:
        # Not by a path object or a file object: of many processes, often, that is the work.
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fields = os.read(descriptor, _MAX_LINE_NUM_BYTES).rpartition(b")")[2].split(None, 2)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    state = fields[0].decode()
    has_ended = state in _ENDED and not _has_threads(pid)
    return Process(pid, int(fields[1]), has_ended, state == _RUNNING)


def _has_threads(pid: int) -> bool:
    """Return whether threads outlive the first one, by whose state a process goes."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1  # noqa: PTH208 - as above
    except OSError:
        return False


_SWEEP_LIMIT_S = 10.0


def kill_marked(mark: bytes) -> None:
    """Kill all processes of our own user that were started with this variable, `NAME=value`.

    Whoever started them may itself have been killed. A process shows the environment it was started
    with; one that was started without is not found.
    """
    until_s = time.monotonic() + _SWEEP_LIMIT_S
    found = True
    while found and time.monotonic() < until_s:
        found = False
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
                    found = True
