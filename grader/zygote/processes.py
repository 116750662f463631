"""What /proc tells of processes, read where nothing of it needs the right to trace them."""

import os
from dataclasses import dataclass
from pathlib import Path

_ENDED = "ZX"
_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process as its line in /proc has it."""

    pid: int
    parent: int
    has_ended: bool
    """Only its entry is left, until its parent takes note (or its last thread ends)."""


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


def descendants(ancestor: int) -> list[int]:
    """Return every process below this one that has not ended."""
    processes = all_processes()
    tree = {ancestor}
    grew = True
    while grew:
        grew = False
        for process in processes:
            if process.parent in tree and process.pid not in tree:
                tree.add(process.pid)
                grew = True
    return [each.pid for each in processes if each.pid in tree - {ancestor} and not each.has_ended]


def is_below(pid: int, ancestor: int) -> bool:
    """Return whether this process was started by that one, or by one it started."""
    parents = {process.pid: process.parent for process in all_processes()}
    seen = set()
    while pid in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False


def owned_by(uid: int) -> list[int]:
    """Return every process but ourselves that is this user in any respect and has not ended.

    By its status, which also tells of the user that it is only in part.
    """
    found = []
    for process in all_processes():
        if process.has_ended or process.pid == os.getpid():
            continue
        try:
            status = (_PROC / str(process.pid) / "status").read_text(errors="replace")
        except OSError:
            continue
        uids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
        if str(uid) in uids:
            found.append(process.pid)
    return found


def _process(pid: int) -> Process | None:
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return Process(pid, int(fields[1]), fields[0].decode() in _ENDED)
