"""Sets up the audit hook of the interposer library, which refuses ways around MPI and torch."""

import asyncio  # noqa: F401 - importing it changes code of its own, which is refused afterwards
import ctypes
import os
import site
import sysconfig
from pathlib import Path

import numpy as np

from . import probe_modules


def set_up(trace_fd: int, support: Path) -> None:
    """Refuse from now on what a submission has no business doing; there is no way back.

    trace_fd: the trace memory, where the first refusal is noted. support: the folder of the files
    that the assignment gives, which may do as they like. Raises RuntimeError where the
    interposer has not been loaded.
    """
    preloaded = ctypes.CDLL(None)
    said = b"\n".join((_OURS, _PROBES, _lines(support), _PACKAGES, _STANDARD_LIBRARY, b""))
    if not hasattr(preloaded, "grader_guard") or preloaded.grader_guard(trace_fd, said) != 0:
        raise RuntimeError("the guard of student code could not be set up")


def _lines(*paths: Path, end: str = "/") -> bytes:
    """Return how names of files begin, under each name that their folders may go by."""
    names = dict.fromkeys(name for path in paths for name in (path.absolute(), path.resolve()))
    return b"".join(os.fsencode(f"{name}{end}\n") for name in names)


# Found out before the fork: a rank that is somebody else may not be allowed to look.
_OURS = _lines(Path(__file__).parent.parent)
_PROBES = f"{probe_modules.FILES}\n".encode()
_STANDARD = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
_STANDARD_LIBRARY = _lines(*_STANDARD) + b"<frozen \n"
# Parts of the standard library use C memory or other programs in ways of their own, whoever calls
# them, as packages do: shared numbers between processes, and what a machine is called.
_OF_THEIR_OWN = ("multiprocessing/sharedctypes.py", "platform.py", "uuid.py")
_PACKAGES = _lines(Path(np.__file__).parent.parent, *map(Path, site.getsitepackages())) + _lines(
    *(folder / name for folder in _STANDARD for name in _OF_THEIR_OWN), end=""
)
