"""Removes what a run's user made, however deep, odd or locked it is, and never follows a link.

No recursion and two open folders at a time: what lies in a folder is moved up before the folder
goes, so that neither depth nor the length of a path matters.
"""

import contextlib
import itertools
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

_NUM_NAMES_AT_ONCE = 10_000
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove_contents(folder: Path, owner: int | None = None) -> None:
    """Remove everything in a folder, or everything at its top that belongs to this user.

    What cannot be removed stays; see `names_in`.
    """
    with contextlib.suppress(OSError), _opened(str(folder)) as top:
        removed = True
        while removed:
            removed = False
            for name in _names(top, owner):
                with contextlib.suppress(OSError):
                    _remove(top, name)
                    removed = True


def unlock(folder: Path) -> None:
    """Let our group write to a folder of ours again, and all others look, whatever it was made to.

    Root looks as others do, where it has no rights of its own. A folder of somebody else's stays as
    it is.
    """
    with contextlib.suppress(OSError):
        _set_mode(str(folder), None, 0o775)


def names_in(folder: Path, owner: int | None = None) -> list[str]:
    """Return the names in a folder, of all entries or of this user's; none without the folder."""
    with contextlib.suppress(OSError), _opened(str(folder)) as top:
        return _names(top, owner)
    return []


def _names(top: int, owner: int | None = None) -> list[str]:
    """Return a number of names in an open folder, all of them where they are not too many."""
    with os.scandir(top) as entries:
        some = itertools.islice(
            (entry.name for entry in entries if owner is None or _owner_of(entry) == owner),
            _NUM_NAMES_AT_ONCE,
        )
        return list(some)


def _owner_of(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_uid
    except OSError:
        return -1


def _remove(top: int, name: str) -> None:
    """Remove one entry of an open folder; raises OSError when it has to stay."""
    try:
        os.unlink(name, dir_fd=top)
        return
    except (IsADirectoryError, PermissionError):
        _set_mode(name, top, 0o700)
    with _opened(name, top) as folder:
        while names := _names(folder):
            for inner in names:
                try:
                    os.unlink(inner, dir_fd=folder)
                except IsADirectoryError:
                    # Only a folder that may be written to can be moved elsewhere.
                    _set_mode(inner, folder, 0o700)
                    os.rename(
                        inner,
                        f"removed-{secrets.token_hex(16)}",
                        src_dir_fd=folder,
                        dst_dir_fd=top,
                    )
    os.rmdir(name, dir_fd=top)


def _set_mode(name: str, parent: int | None, mode: int) -> None:
    """Change that of a folder of ours, through a descriptor that cannot be anything else."""
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(mode)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _opened(name: str, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(name, _OPEN_FOLDER, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
