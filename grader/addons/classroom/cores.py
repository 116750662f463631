"""Which processors each grading gets: whole cores, which no other grading has at the same time.

A lock for each core holds that for all gradings of a user on a machine, whichever command they
belong to. It goes with the processes that hold it, however they end.
"""

import contextlib
import fcntl
import os
import tempfile
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

    A machine with fewer than a grading wants has one block of them all. What is left over stays
    idle: of two gradings on one core, each would measure what the other does.
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
        found |= set(range(int(first), int(last or first) + 1))
    return found


@contextlib.contextmanager
def taken(free: Sequence[tuple[Core, ...]]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Wait for a block of cores that no grading has; yield (its processors, descriptors).

    The descriptors hold the locks: a process that inherits them has the cores for as long as it
    lives. Raises GraderError where the locks cannot be made.
    """
    folder = _folder()
    while True:
        for block in free:
            held = _locked(folder, block)
            if held is None:
                continue
            try:
                yield tuple(cpu for core in block for cpu in core), tuple(held)
            finally:
                _close(held)
            return
        time.sleep(_PAUSE_S)


def _locked(folder: Path, block: Sequence[Core]) -> list[int] | None:
    """Return descriptors that hold the locks of all these cores; None where one is taken."""
    held: list[int] = []
    for core in block:
        file = folder / str(core[0])
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        held.append(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _close(held)
            return None
    return held


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _folder() -> Path:
    """Return this user's folder of locks on this machine. Raises GraderError for another's."""
    folder = Path(tempfile.gettempdir()) / f"grader-cores-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if folder.is_symlink() or folder.lstat().st_uid != os.geteuid():
        raise GraderError(
            f"{folder} belongs to another user, so it cannot tell which cores are in use; have "
            "it removed, or set TMPDIR"
        )
    return folder


def joined(cpus: Sequence[int]) -> str:
    """Return the list as container engines read it: `0,1,4`."""
    return ",".join(map(str, cpus))
