"""Reserves physical cores of this machine for gradings, so that no two use one.

A lock for each core ensures that for all gradings of a user on a machine, whichever command they
belong to. The lock is released when the processes that hold it end, however they end.
"""

import contextlib
import fcntl
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.model.errors import GraderError

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_PAUSE_S = 0.1
Core = tuple[int, ...]
"""The processors of one physical core."""


def blocks(cores: Sequence[Core], cores_per_grading: int) -> list[tuple[Core, ...]]:
    """Return the cores of each grading that can go on at the same time.

    If a machine has fewer cores than one grading needs, all form one block. Cores left over stay
    idle: two gradings on one core would disturb each other's measurements.
    """
    size = min(cores_per_grading, len(cores))
    return [tuple(cores[first : first + size]) for first in range(0, len(cores) - size + 1, size)]


def cores_here() -> list[Core]:
    """Return the physical cores that this process may use."""
    allowed = os.sched_getaffinity(0)
    return sorted({tuple(sorted(_siblings(cpu) & allowed)) for cpu in allowed})


def _siblings(cpu: int) -> set[int]:
    try:
        text = Path(_TOPOLOGY.format(cpu)).read_text()
    except OSError:
        return {cpu}
    found = {cpu}
    for piece in text.strip().split(","):
        first, _, last = piece.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


@contextlib.contextmanager
def taken(
    free: Sequence[tuple[Core, ...]], ended: threading.Event | None = None
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Wait for a block of cores that no grading uses; yield (its processors, descriptors).

    The descriptors hold the locks: a process that inherits them has the cores for as long as it
    lives. Raises GraderError where the locks cannot be made, or the command has ended meanwhile.
    """
    folder = _folder()
    while ended is None or not ended.is_set():
        for block in free:
            with contextlib.ExitStack() as closing:
                held = _locked(folder, block, closing)
                if held:
                    yield tuple(cpu for core in block for cpu in core), held
                    return
        time.sleep(_PAUSE_S)
    raise GraderError("the command has ended")


def _locked(folder: Path, block: Sequence[Core], closing: contextlib.ExitStack) -> tuple[int, ...]:
    """Return descriptors that hold the locks of all these cores; none where one is taken."""
    held = []
    for core in block:
        file = folder / str(core[0])
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        closing.callback(os.close, descriptor)
        held.append(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return ()
    return tuple(held)


def _folder() -> Path:
    """Return this user's folder of locks on this machine. Raises GraderError for another's."""
    folder = Path(tempfile.gettempdir()) / f"grader-cores-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if folder.is_symlink() or folder.lstat().st_uid != os.geteuid():
        raise GraderError(
            f"{folder} belongs to another user. Set TMPDIR to your own folder, where this "
            "command can record which cores are in use"
        )
    return folder
