"""What a container may have too little of: a likely reason why ranks cannot be started in it."""

import contextlib
import os
import resource
from collections.abc import Mapping
from pathlib import Path

from grader.observe.forkserver.control_group import ControlGroup

_ENOUGH = {
    "memory": (4 << 30, "--memory 4g --memory-swap 4g"),
    "shared memory": (256 << 20, "--tmpfs /dev/shm:size=256m,mode=1777"),
    "processes": (512, "--pids-limit 512"),
    "open files": (1024, "--ulimit nofile=1024"),
    "processes of a user": (4096, "--ulimit nproc=4096"),
}
"""What `grade run` gives a container, in bytes or in numbers, and by which flags; less is enough
for some parts."""
Allowance = Mapping[str, int | None]
"""What a container may use of each; None for as much as there is."""


def own_allowance(shared_memory: Path = Path("/dev/shm")) -> Allowance:  # noqa: S108 - only measured
    """Return what we may use here."""
    group = ControlGroup.own()
    group.close()
    shared_num_bytes = None
    with contextlib.suppress(OSError):
        found = os.statvfs(shared_memory)
        shared_num_bytes = found.f_frsize * found.f_blocks
    return {
        "memory": group.memory_limit_num_bytes,
        "shared memory": shared_num_bytes,
        "processes": group.max_processes,
        "open files": _hard_limit(resource.RLIMIT_NOFILE),
        "processes of a user": _hard_limit(resource.RLIMIT_NPROC),
    }


def advice(allowed: Allowance) -> str:
    """Return what there is less of than `grade run` gives, and the flags; empty for nothing."""
    found = {
        what: (number, flag)
        for what, (enough, flag) in _ENOUGH.items()
        if (number := allowed[what]) is not None and number < enough
    }
    if not found:
        return ""
    scarce = ", ".join(
        f"{number >> 20} MiB of {what}" if what.endswith("memory") else f"at most {number} {what}"
        for what, (number, _) in found.items()
    )
    flags = " ".join(flag for _, flag in found.values())
    return f"this container has less than `grade run` gives ({scarce}); start it with {flags}"


def _hard_limit(kind: int) -> int | None:
    hard = resource.getrlimit(kind)[1]
    return None if hard == resource.RLIM_INFINITY else hard
