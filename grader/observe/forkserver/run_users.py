"""The users of one run, and the folders that they may write to.

One user starts it, one supervises it, and each rank has one.

A rank begins as a user that all ranks are, for Open MPI makes what ranks share for one user. Once
it is connected it is its own for good: then the kernel keeps their files, processes and limits
apart, whatever a path or a number would show. No right is needed for that step, since a process may
always become what its real and saved user are.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_NUM_RANKS = 62
NUMBERS_PER_RUN = MAX_NUM_RANKS + 2
"""Users that a run has to itself, from its first on."""


@dataclass(frozen=True)
class RunUsers:
    """Who the processes of a run are."""

    first: int
    """Starts the run; ranks are this user in part, until they are connected."""
    ranks: int
    """How many have a user of their own; none where there is but one."""

    @classmethod
    def of_run(cls, first: int, ranks: int) -> "RunUsers":
        """Return the users of a run of so many ranks. Raises ValueError for more than 62."""
        if ranks > MAX_NUM_RANKS:
            raise ValueError(f"a run can have at most {MAX_NUM_RANKS} ranks, not {ranks}")
        return cls(first, ranks if ranks > 1 else 0)

    @property
    def supervisor(self) -> int:
        """Return the user that nobody of the run is."""
        return self.first + 1

    def of_rank(self, rank: int) -> int:
        """Return the user of one rank, whose group has the same number."""
        return self.first + 2 + rank

    @property
    def all(self) -> tuple[int, ...]:
        """Return every user that a process of the run can be."""
        return (self.first, *map(self.of_rank, range(self.ranks)))

    def begin(self, rank: int | None) -> None:
        """As root, become the first user; a rank becomes its own as well, as far as it matters.

        Who may signal a process goes by its real and saved user, what it may do by the effective
        one.
        """
        own = self.first if rank is None else self.of_rank(rank)
        os.setgroups([] if rank is None else [own])
        os.setresgid(own, self.first, own)
        os.setresuid(own, self.first, own)

    def part(self, rank: int) -> None:
        """Be the rank's own user and nobody else, for good."""
        own = self.of_rank(rank)
        os.setresgid(own, own, own)
        os.setresuid(own, own, own)

    def act_for(self, uid: int) -> None:
        """As who was root before, do from now on what this user may; with 0 what root may.

        Only for one of the run's users: nothing of theirs may signal us meanwhile.
        """
        os.setresuid(self.supervisor, 0, 0)
        os.setgroups(self.all)
        os.setresgid(uid, uid, uid)
        os.setresuid(self.supervisor, uid, 0)


def own_folders(scratch: Path, rank: int) -> tuple[Path, Path]:
    """Return where a rank works, and where its memory lies that has names."""
    folder = scratch / f"rank-{rank}"
    return folder / "work", folder / "memory"


def make_folders(users: RunUsers, scratch: Path) -> None:
    """Make them, as root. `scratch` is there and empty.

    Made without the right to give files away: whoever is to own one makes it.

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
