"""The probe of the hostile submission: tries what must be refused, and tells what it could do.

With `hostile_attempts` and what both import, it is sent to the ranks as any probes are.
"""

import ctypes
import errno
import json
import time
from pathlib import Path
from typing import Any

from . import foreign_mounts, hostile_attempts

_REFUSALS = {
    getattr(errno, name)
    for name in (
        *("EACCES", "EPERM", "ENOSYS", "EROFS", "ENOENT", "ENOTDIR", "ESRCH"),
        *("EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT"),
    )
}
"""Errors that mean `no`. Any other is about how it was asked: the way itself was open."""
_CREATE_RULESET = 444
"""Of Landlock, on every architecture; with 1 as its last argument it tells the version."""
_PR_GET_DUMPABLE = 3
_MAX_TOLD = 5


def attempt(student: Any, comm: Any, **target: Any) -> dict[str, str]:
    """Make these attempts; returns a text of JSON."""
    proc, scratch = Path("/proc/self"), Path.cwd()
    mounts, own_folder = (proc / "mountinfo").read_text(), str(scratch.parent)
    target["scratch"] = str(scratch)
    found = {
        "foreign_mounts": foreign_mounts.foreign(mounts, target["ours"], own_folder),
        "attempts": {
            name: outcomes(getattr(hostile_attempts, name)(target)) for name in target["attempts"]
        },
        "status": (proc / "status").read_text(),
        "dumpable": ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0),
        "foreign": hostile_attempts.foreign_processes(),
        "landlock": ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1),
    }
    return {"found": json.dumps(found)}


def take_memory(student: Any, comm: Any, *, num_bytes: int, longest_s: float) -> dict[str, str]:
    """Fill so much memory and keep it; returns only if nobody has ended us for it."""
    try:
        taken = b"x" * num_bytes
    except MemoryError:
        raise RuntimeError(f"a rank could not take {num_bytes >> 20} MiB of memory") from None
    time.sleep(longest_s)
    return {"kept": str(len(taken))}


def outcomes(steps: Any) -> dict[str, Any]:
    """Return how many steps were tried, and those that were not refused."""
    num_steps, succeeded = 0, []
    for what, act in steps:
        num_steps += 1
        try:
            act()
        except OSError as error:
            if error.errno is not None and error.errno not in _REFUSALS:
                succeeded.append(f"{what} ({errno.errorcode.get(error.errno, error.errno)})")
        else:
            succeeded.append(what)
    left_out = [f"{len(succeeded) - _MAX_TOLD} more"] if len(succeeded) > _MAX_TOLD else []
    return {"num_steps": num_steps, "succeeded": [*succeeded[:_MAX_TOLD], *left_out]}
