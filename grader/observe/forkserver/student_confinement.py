"""What a rank may no longer do once MPI or torch connects it: reach the others by any other way.

Put on before the student's code runs. What was opened until then stays open: the judge's socket,
Open MPI's segments and its connection to mpirun, the store of torch.distributed.
"""

import multiprocessing.heap
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path

from . import landlock
from .confinement import Sealed, be_alone
from .rank_system_calls import Allowed
from .run_users import own_folders
from .spawning import spawn_without_programs, tell_of_no_programs

_DEVICES = tuple(Path("/dev") / name for name in ("null", "full", "zero", "random", "urandom"))
_SEGMENTS, _WINDOWS = "segments", "windows"
"""The folders, in that of all ranks, where MPI puts what ranks share."""
_GIVEN = ("submission", "support")
_SHARED_MEMORY = "GRADER_SHARED_MEMORY"
"""The variable by which the interposer knows where a rank's named memory and semaphores are."""
_SERVER = re.compile(r"tcp4://[0-9.]+:(\d+)")
_TELLS_OF_MEMORY = {"auxv", "map_files", "maps", "mem", "numa_maps", "pagemap", "task"}
_TELLS_OF_MEMORY |= {"smaps", "smaps_rollup"}
"""In a process's folder of /proc: where its memory has what, such as the trace; `task` as well."""
_TELLS_OF_OTHERS = {"net"}
"""There as well: sockets and ports of all."""
_PROC = (
    *("cpuinfo", "filesystems", "self", "thread-self", "version"),
    *(f"sys/kernel/{name}" for name in ("cap_last_cap", "osrelease", "ostype", "pid_max")),
    *("sys/kernel/random", "sys/net/core/somaxconn", "sys/vm/overcommit_memory"),
)
"""What does not change with what others do."""
_DEV, _TERMINALS = Path("/dev"), Path("/dev/pts")
"""Whoever opens a terminal there makes it appear to all."""
_SYS = ("devices/system/cpu", "bus/pci", "devices/pci*")
"""Processors, and the devices that gloo looks through for a network."""


MPI, OWN_MPI, GLOO = "mpi", "own-mpi", "gloo"
"""What connects ranks: MPI, which is up; MPI, which the submission starts; torch's gloo."""


def make_shared_folders(folder: Path) -> None:
    """Make, as one of the ranks, the folders that MPI is to use; they may be there already."""
    for name in (_SEGMENTS, _WINDOWS):
        (folder / "scratch" / name).mkdir(mode=0o700, exist_ok=True)


def confine_student(
    sealed: Sealed | None,
    folder: Path,
    rank: int,
    connection: int,
    *,
    world: str,
    windows: bool = False,
) -> Callable[[], None] | None:
    """Give this rank a folder of its own to work in, and as little else as its world needs.

    Where MPI has no windows that they share, each rank is then a user of its own. One that has no
    others keeps all but other programs.
    sealed: None for a run of the user we are, whose ranks are only kept apart by convention.
    folder: the run's. connection: the judge's. world: MPI, OWN_MPI or GLOO; empty where nothing
    connects ranks. windows: MPI may make files for them, which all ranks use. Returns what takes
    away the rest when MPI is up, where it is not yet; None otherwise. Raises OSError when the
    kernel refuses, as does what is returned.
    """
    if not world:
        if sealed is not None:
            tell_of_no_programs()
            sealed.system_calls.refuse_programs()
            spawn_without_programs(connection)
        return None
    scratch = folder / "scratch"
    own, memory = own_folders(scratch, rank)
    if sealed is None:
        for each in (own, memory):
            each.mkdir(mode=0o700, parents=True)
    os.chdir(own)
    os.environ.update(_pointing_to(own, os.environ, scratch))
    tempfile.tempdir = None  # found before, perhaps, and no longer ours
    if sealed is None:
        return None
    os.environ[_SHARED_MEMORY] = str(memory)
    tell_of_no_programs()
    # Where multiprocessing would look first: /dev/shm.
    multiprocessing.heap.Arena._dir_candidates.clear()  # type: ignore[attr-defined]
    given = [folder / name for name in _GIVEN]
    shared = [scratch / _WINDOWS] if windows else []
    confine = partial(
        _confine,
        sealed,
        Allowed(
            connections=world == GLOO,
            ports=world == GLOO,
            local_sockets=landlock.keeps_sockets_apart(),
            free_space=windows,
        ),
        readable=[*_unshared(folder), *given],
        own=[own, memory, *shared],
        alone=None if windows or world == OWN_MPI else rank,
    )
    if world != OWN_MPI:
        confine()
        return None
    of_mpi = [each for each in scratch.iterdir() if not _is_of_a_rank(each)]
    _confine(
        sealed,
        Allowed(
            connections=True,
            datagrams=True,
            local_sockets=landlock.keeps_sockets_apart(),
            free_space=True,
        ),
        readable=[*_rest(folder), *given],
        own=[own, memory, *of_mpi],
        ports=_ports_of_mpirun(os.environ),
    )
    return confine


def _confine(
    sealed: Sealed,
    allowed: Allowed,
    *,
    readable: Sequence[Path],
    own: Sequence[Path],
    ports: Sequence[int] | None = None,
    alone: int | None = None,
) -> None:
    """alone: the rank that becomes its own user, before it may no longer change who it is."""
    landlock.restrict(readable=readable, devices=_DEVICES, own=own, ports=ports)
    if alone is not None:
        be_alone(sealed, alone)
    sealed.system_calls.keep_ranks_apart(allowed)


def _rest(folder: Path) -> Iterator[Path]:
    """Yield what lies outside of the run's folder, but for the other processes."""
    for path in _outside(folder):
        if path == Path("/proc"):
            yield from (each for each in path.iterdir() if not each.name.isdigit())
            yield from _of_this_process(without=_TELLS_OF_MEMORY)
        else:
            yield path


def _unshared(folder: Path) -> Iterator[Path]:
    """Yield what lies outside of the run's folder and tells nothing of the other ranks."""
    proc, system = Path("/proc"), Path("/sys")
    for path in _outside(folder):
        if path not in (proc, system):
            yield path
    yield from (proc / name for name in _PROC)
    yield from (each for name in _SYS for each in system.glob(name))
    yield from _of_this_process(without=_TELLS_OF_MEMORY | _TELLS_OF_OTHERS)


def _outside(folder: Path) -> Iterator[Path]:
    """Yield what lies beside the run's folder, but for terminals."""
    for path in landlock.beside(folder):
        for each in path.iterdir() if path == _DEV else (path,):
            if each != _TERMINALS:
                yield each


def _of_this_process(*, without: Set[str]) -> Iterator[Path]:
    return (each for each in Path(f"/proc/{os.getpid()}").iterdir() if each.name not in without)


def _is_of_a_rank(path: Path) -> bool:
    return path.name.startswith("rank-")


def _ports_of_mpirun(environment: Mapping[str, str]) -> list[int]:
    """Return where mpirun listens; it is among what its placeholder told this rank."""
    values = (value for name, value in environment.items() if name.startswith("PMIX_SERVER_URI"))
    return [int(port) for value in values for port in _SERVER.findall(value)]


def _pointing_to(own: Path, environment: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return the variables that name the scratch folder of all ranks, naming this one's."""
    return {name: str(own) for name, value in environment.items() if value == str(scratch)}
