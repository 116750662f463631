"""Memory and processes of the whole container, as its control group counts them.

Files are opened once and read with plain descriptors: nothing is needed that may have run out.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_NO_LIMIT = 1 << 60
"""What version 1 says, rounded to pages, where there is no limit."""
_MAX_NUM_BYTES = 1 << 14
_CACHE = (b"inactive_file", b"active_file", b"total_inactive_file", b"total_active_file")


@dataclass(frozen=True)
class ControlGroup:
    """Descriptors of the counters of our own group; -1 for one that is not there."""

    memory: int = -1
    memory_details: int = -1
    memory_limit_num_bytes: int | None = None
    swap_limit_num_bytes: int | None = None
    processes: int = -1
    """Counts threads as well."""
    max_processes: int | None = None

    @classmethod
    def own(cls, root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> "ControlGroup":
        """Open what there is, under version 2 or 1; everything is optional."""
        version_1 = ("memory.usage_in_bytes", "memory.limit_in_bytes")
        memory = _counter(("memory.current", "memory.max"), root, membership)
        memory = memory or _counter(version_1, root, membership, "memory")
        pids = ("pids.current", "pids.max")
        processes = _counter(pids, root, membership) or _counter(pids, root, membership, "pids")
        return cls(
            memory=_open(memory and memory[0]),
            memory_details=_open(memory and memory[0].parent / "memory.stat"),
            memory_limit_num_bytes=memory and _limit(memory[1]),
            swap_limit_num_bytes=memory and _limit_of_swap(memory[1]),
            processes=_open(processes and processes[0]),
            max_processes=processes and _limit(processes[1]),
        )

    def close(self) -> None:
        """Close the counters; the limits stay known."""
        for descriptor in (self.memory, self.memory_details, self.processes):
            if descriptor >= 0:
                os.close(descriptor)

    def memory_num_bytes(self, at_least: int = 0) -> int | None:
        """Return what is in use and cannot be given back: all but the cache of files.

        at_least: what is of interest; the cache is looked at only where there is more. None where
        nobody counts.
        """
        if self.memory < 0:
            return None
        used = int(os.pread(self.memory, _MAX_NUM_BYTES, 0))
        if used <= at_least or self.memory_details < 0:
            return used
        details = _fields(os.pread(self.memory_details, _MAX_NUM_BYTES, 0))
        # Version 1 has both names; those that begin with `total` include groups below this one.
        prefix = b"total_" if b"total_inactive_file" in details else b""
        return used - sum(details.get(prefix + name, 0) for name in _CACHE[:2])

    def num_processes(self) -> int | None:
        """Return how many processes and threads there are; None where nobody counts."""
        return int(os.pread(self.processes, _MAX_NUM_BYTES, 0)) if self.processes >= 0 else None


def _counter(
    names: tuple[str, str], root: Path, membership: Path, controller: str = ""
) -> tuple[Path, Path] | None:
    """Return a counter of our group and its limit, of these names; None where there is none.

    controller: under version 1, which has a folder for each.
    """
    for folder in (*_own_folders(root / controller, controller, membership), root / controller):
        if (folder / names[0]).is_file():
            return folder / names[0], folder / names[1]
    return None


def _own_folders(root: Path, controller: str, membership: Path) -> Iterator[Path]:
    """Yield where our group lies if we see all groups, rather than only our own."""
    with contextlib.suppress(OSError):
        for line in membership.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == controller:
                yield root / path.lstrip("/")


def _open(path: Path | None) -> int:
    if path is None:
        return -1
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _limit(path: Path) -> int | None:
    try:
        limit = int(path.read_text())
    except (OSError, ValueError):  # `max`, or none at all
        return None
    return limit if limit < _NO_LIMIT else None


def _limit_of_swap(memory: Path) -> int | None:
    """Return the limit beside that of memory; version 1 says what both may be together."""
    if memory.name == "memory.max":
        return _limit(memory.with_name("memory.swap.max"))
    both, limit = _limit(memory.with_name("memory.memsw.limit_in_bytes")), _limit(memory)
    return both - limit if both is not None and limit is not None else None


def _fields(raw: bytes) -> Mapping[bytes, int]:
    lines = (line.split() for line in raw.splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[0] in _CACHE}
