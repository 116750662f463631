"""Who gets into /proc: by a path alone anybody there sees how many files and threads others have.

What a path is looked at for, Landlock does not ask. So who is not in a group has no way into /proc
at all while a run of MPI lasts: its ranks leave the group before the submission's code begins.
"""

import contextlib
import os
from pathlib import Path

_PROC = Path("/proc")
_FIRST_NAMESPACE = "pid:[4026531836]"
"""Of the machine itself; the kernel gives it this number."""


def is_the_machines_own() -> bool:
    """Return whether this is no container, or one that shows the machine's processes."""
    return str(Path("/proc/self/ns/pid").readlink()) == _FIRST_NAMESPACE


def open_to_group(gid: int) -> None:
    """Let root, and who is in this group, into /proc, and nobody else.

    Leaves it as it is where it is the machine's own, or may not be changed.
    """
    if is_the_machines_own():
        return
    with contextlib.suppress(OSError):
        os.setegid(gid)
        try:
            os.chown(_PROC, -1, gid)  # to a group that we are in
        finally:
            os.setegid(0)
        _PROC.chmod(0o750)


def open_to_all() -> None:
    """Let everybody into /proc, as usual."""
    if not is_the_machines_own():
        with contextlib.suppress(OSError):
            _PROC.chmod(0o555)
