"""What a container may have too little of: a likely reason why ranks cannot be started in it."""

import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.observe.forkserver.control_group import ControlGroup

_MEMORY_NUM_BYTES = 4 << 30
_SHARED_MEMORY_NUM_BYTES = 256 << 20
_NUM_PROCESSES = 512
_NUM_OPEN_FILES = 1024
_NUM_PROCESSES_OF_A_USER = 4096
"""What `grade run` gives a container; less is enough for some parts."""


@dataclass(frozen=True)
class Allowance:
    """What a container may use; None for as much as there is."""

    memory_num_bytes: int | None
    shared_memory_num_bytes: int | None
    num_processes: int | None
    num_open_files: int | None
    num_processes_of_a_user: int | None


def own_allowance(shared_memory: Path = Path("/dev/shm")) -> Allowance:  # noqa: S108 - only measured
    """Return what we may use here."""
    group = ControlGroup.own()
    group.close()
    try:
        found = os.statvfs(shared_memory)
    except OSError:
        shared_num_bytes = None
    else:
        shared_num_bytes = found.f_frsize * found.f_blocks
    return Allowance(
        memory_num_bytes=group.memory_limit_num_bytes,
        shared_memory_num_bytes=shared_num_bytes,
        num_processes=group.max_processes,
        num_open_files=_hard_limit(resource.RLIMIT_NOFILE),
        num_processes_of_a_user=_hard_limit(resource.RLIMIT_NPROC),
    )


def advice(allowed: Allowance) -> str:
    """Return what there is less of than `grade run` gives, and the flags; empty for nothing."""
    found = list(_scarce(allowed))
    if not found:
        return ""
    scarce = ", ".join(what for what, _ in found)
    flags = " ".join(flag for _, flag in found)
    return f"this container has less than `grade run` gives it ({scarce}): start it with {flags}"


def _scarce(allowed: Allowance) -> Iterator[tuple[str, str]]:
    memory, shared = allowed.memory_num_bytes, allowed.shared_memory_num_bytes
    if memory is not None and memory < _MEMORY_NUM_BYTES:
        yield f"{memory >> 20} MiB of memory", "--memory 4g --memory-swap 4g"
    if shared is not None and shared < _SHARED_MEMORY_NUM_BYTES:
        yield f"{shared >> 20} MiB of shared memory", "--shm-size 256m"
    for number, enough, what, flag in (
        (allowed.num_processes, _NUM_PROCESSES, "processes", "--pids-limit 512"),
        (allowed.num_open_files, _NUM_OPEN_FILES, "open files", "--ulimit nofile=1024"),
        (
            allowed.num_processes_of_a_user,
            _NUM_PROCESSES_OF_A_USER,
            "processes of a user",
            "--ulimit nproc=4096",
        ),
    ):
        if number is not None and number < enough:
            yield f"at most {number} {what}", flag


def _hard_limit(kind: int) -> int | None:
    hard = resource.getrlimit(kind)[1]
    return None if hard == resource.RLIM_INFINITY else hard
