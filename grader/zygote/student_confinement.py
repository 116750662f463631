"""What a rank may no longer do once MPI connects it: reach the others by any other way.

Put on before the student's code runs. What was opened until then stays open: the judge's socket,
Open MPI's segments and its connection to mpirun.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from . import landlock
from .confinement import Sealed

_DEVICES = tuple(Path("/dev") / name for name in ("null", "full", "zero", "random", "urandom"))
WINDOWS = "windows"
"""The folder, in that of all ranks, where MPI puts its windows."""
_GIVEN = ("submission", "support")


def confine_student(
    sealed: Sealed | None, folder: Path, rank: int, *, windows: bool = False
) -> None:
    """Give this rank a folder of its own to work in, and nothing else that is shared.

    sealed: None for a run of the user we are, whose ranks are only kept apart by convention.
    folder: the run's. windows: MPI may make files for them, which all ranks use.
    Raises OSError when the kernel refuses.
    """
    scratch = folder / "scratch"
    own = scratch / f"rank-{rank}"
    own.mkdir(mode=0o700)
    os.chdir(own)
    os.environ.update(_pointing_to(own, os.environ, scratch))
    shared = scratch / WINDOWS
    shared.mkdir(mode=0o700, exist_ok=True)
    if sealed is None:
        return
    landlock.restrict(
        readable=[*_unshared(folder), *(folder / name for name in _GIVEN)],
        devices=_DEVICES,
        own=[own, shared] if windows else [own],
    )
    sealed.system_calls.refuse_ways_beside_mpi()


def _unshared(folder: Path) -> Iterator[Path]:
    """Yield what lies outside of the run's folder and tells nothing of the other ranks."""
    for path in landlock.beside(folder):
        if path == Path("/proc"):
            yield from (each for each in path.iterdir() if not each.name.isdigit())
            yield path / str(os.getpid())
        else:
            yield path


def _pointing_to(own: Path, environment: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return the variables that name the scratch folder of all ranks, naming this one's."""
    return {name: str(own) for name, value in environment.items() if value == str(scratch)}
