"""Remembers which images have passed the selftest's attempts on the kernel since it booted."""

import os
from contextlib import suppress
from pathlib import Path

VARIABLE = "GRADER_KERNEL_REFUSED"
"""Names the boot under which a container's image has passed; empty if none is known."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return the random name of the kernel's last boot, equal in all containers; or nothing."""
    return _text(_BOOT_ID)


def has_passed_here() -> bool:
    """Return whether the image of this container is known to have passed under this boot."""
    return os.environ.get(VARIABLE, "") == boot_id() != ""


def known_boot(folder: Path | None, image_id: str) -> str:
    """Return this boot if the image is known to have passed under it, else nothing."""
    return boot_id() if folder is not None and _text(folder / image_id) == boot_id() else ""


def remember(folder: Path | None, image_id: str) -> None:
    """Remember that the image has passed; where nothing can be written, it is tried again."""
    if folder is not None:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / image_id).write_text(boot_id())


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except (OSError, ValueError):
        return ""
