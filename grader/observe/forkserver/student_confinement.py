"""Leaves a rank its own folder and MPI or gloo, once they connect it: files, users, system calls.

Put on before the student's code runs. What was opened until then stays open: the judge's socket,
Open MPI's segments and its connection to mpirun, the store of torch.distributed. Channels that
remain between ranks earn nothing: the judge looks at what messages contain.
"""

import errno
import multiprocessing.heap
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from multiprocessing import util
from pathlib import Path
from typing import Any, NoReturn

from . import landlock
from .confinement import Sealed, be_alone
from .run_users import own_folders

_DEVICES = tuple(Path("/dev") / name for name in ("null", "full", "zero", "random", "urandom"))
_SEGMENTS, _WINDOWS = "segments", "windows"
"""The folders, in that of all ranks, where MPI puts what ranks share."""
_GIVEN = ("submission", "support")
_SHARED_MEMORY = "GRADER_SHARED_MEMORY"
"""The variable by which the interposer knows where a rank's named memory and semaphores are."""
_TELLS_OF_MEMORY = {"auxv", "map_files", "maps", "mem", "numa_maps", "pagemap", "task"}
_TELLS_OF_MEMORY |= {"smaps", "smaps_rollup"}
"""In a process's folder of /proc: where its memory has what, such as the trace; `task` as well."""

MPI, OWN_MPI, GLOO = "mpi", "own-mpi", "gloo"
"""What connects ranks: MPI, which is up; MPI, which the submission starts; torch's gloo."""


def make_shared_folders(folder: Path) -> None:
    """Make, as one of the ranks, the folders that MPI is to use; they may be there already."""
    for name in (_SEGMENTS, _WINDOWS):
        (folder / "scratch" / name).mkdir(mode=0o700, exist_ok=True)


def confine_student(
    sealed: Sealed | None, folder: Path, rank: int, *, world: str, windows: bool = False
) -> None:
    """Give this rank a folder of its own to work in; one that has no others keeps what it has.

    Where MPI has no files that ranks share, each rank is then a user of its own.
    sealed: None for a run of the user we are, whose ranks are only kept apart by convention.
    folder: the run's. world: MPI, OWN_MPI or GLOO; empty where nothing connects ranks. windows: MPI
    may make files for them, which all ranks use. Raises OSError when the kernel refuses.
    """
    if not world:
        return
    scratch = folder / "scratch"
    own, memory = own_folders(scratch, rank)
    if sealed is None:
        for each in (own, memory):
            each.mkdir(mode=0o700, parents=True)
    os.chdir(own)
    os.environ.update(_pointing_to(own, os.environ, scratch))
    tempfile.tempdir = None  # found before, perhaps, and no longer ours
    if sealed is None:
        return
    os.environ[_SHARED_MEMORY] = str(memory)
    # Where multiprocessing would look first: /dev/shm.
    multiprocessing.heap.Arena._dir_candidates.clear()  # type: ignore[attr-defined]
    _tell_of_no_programs()
    of_mpi: list[Path] = []
    if world == OWN_MPI:
        of_mpi = [each for each in scratch.iterdir() if not each.name.startswith("rank-")]
    elif windows:
        of_mpi = [scratch / _WINDOWS]
    readable = [*_outside(folder), *(folder / name for name in _GIVEN)]
    landlock.restrict(readable=readable, devices=_DEVICES, own=[own, memory, *of_mpi])
    if not of_mpi:
        be_alone(sealed, rank)
    sealed.system_calls.put_on_rank(has_sockets=world != MPI)


def _tell_of_no_programs() -> None:
    """Have multiprocessing and torch know that the kernel starts no program any more."""
    util.spawnv_passfds = _refuse_program  # type: ignore[assignment]
    torch: Any = sys.modules.get("torch.multiprocessing")
    if torch is not None:
        # Tensors that are shared by name need a program to tear them down.
        torch.set_sharing_strategy = lambda strategy: None


def _refuse_program(path: bytes, *_: object) -> NoReturn:
    """Tell what the kernel refuses; otherwise the process would end without a word."""
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), os.fsdecode(path))


def _outside(folder: Path) -> Iterator[Path]:
    """Yield what lies outside of the run's folder, but for other processes and our memory's map."""
    own = Path(f"/proc/{os.getpid()}")
    for path in landlock.beside(folder):
        if path == own.parent:
            yield from (each for each in path.iterdir() if not each.name.isdigit())
            yield from (each for each in own.iterdir() if each.name not in _TELLS_OF_MEMORY)
        else:
            yield path


def _pointing_to(own: Path, environment: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return the variables that name the scratch folder of all ranks, naming this one's."""
    return {name: str(own) for name, value in environment.items() if value == str(scratch)}
