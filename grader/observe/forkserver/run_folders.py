"""The folders that users of a run may write to: one for all of them, and in it some for each rank.

Made without the right to give files away: whoever is to own one makes it.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .run_users import RunUsers


def own_folders(scratch: Path, rank: int) -> tuple[Path, Path]:
    """Return where a rank works, and where its memory lies that has names."""
    folder = scratch / f"rank-{rank}"
    return folder / "work", folder / "memory"


def make_folders(users: RunUsers, scratch: Path) -> None:
    """Make them, as root. `scratch` is there and empty.

    Who is the first user may write to the folder of all. Only a rank's own group gets to where its
    folders are, so that no other sees anything of what lies there, as it could by a path alone.
    """
    scratch.rmdir()
    with _acting_for(0, users.first):
        _make(scratch, 0o771)
    for rank in range(users.ranks):
        own = users.of_rank(rank)
        around = scratch / f"rank-{rank}"
        with _acting_for(0, own):
            _make(around, 0o730)
        with _acting_for(own, own):
            for folder in own_folders(scratch, rank):
                # While a rank is somebody else in part, it has its own group all the same.
                _make(folder, 0o770)
        around.chmod(0o710)


def remove_own_folders(users: RunUsers, scratch: Path) -> None:
    """Remove the folders of each rank, as root, where they are empty."""
    for rank in range(users.ranks):
        for folder in (*own_folders(scratch, rank), scratch / f"rank-{rank}"):
            with contextlib.suppress(OSError):
                folder.rmdir()


def _make(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)


@contextlib.contextmanager
def _acting_for(uid: int, gid: int) -> Iterator[None]:
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
