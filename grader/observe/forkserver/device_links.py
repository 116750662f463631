"""Links in /dev: following one changes its times, which anybody may look at, so ranks have none.

Neither the file system of a container's /dev nor Landlock keeps a rank from following a link. What
they lead to, a rank beside others may not open anyway, or has open already.
"""

import contextlib
from pathlib import Path

from .proc_access import is_the_machines_own

_DEVICES = Path("/dev")
_USUAL = {
    **{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1"},
    **{"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx", "core": "/proc/kcore"},
}
"""What container engines make, by name."""


def take_away(devices: Path = _DEVICES) -> None:
    """Remove the links, as root, as far as the file system allows it; not the machine's own."""
    if is_the_machines_own():
        return
    for path in devices.iterdir():
        if path.is_symlink():
            with contextlib.suppress(OSError):
                path.unlink()


def put_back(devices: Path = _DEVICES) -> None:
    """Make those again that are usual, where they are missing."""
    if is_the_machines_own():
        return
    for name, target in _USUAL.items():
        with contextlib.suppress(OSError):
            (devices / name).symlink_to(target)
