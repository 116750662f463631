"""The interposer that a wheel brings along, for machines without a C compiler."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_GENERATORS = ("build", "generate", "prototypes")
_HEADERS = ("mpi.h", "mpi-ext.h")


def sources() -> list[Path]:
    """Return all of ours that goes into making an interposer."""
    c_files = sorted((_FOLDER / "sources").glob("*.[ch]"))
    return [*c_files, *(_FOLDER / f"{name}.py" for name in _GENERATORS)]


def file_name(compiler: str) -> str | None:
    """Return what the interposer is called that fits our source and the MPI of an mpicc.

    It depends on nothing else that can differ: the interposer looks up Python and mpi4py by their
    names (sources/python.h). None where no mpi.h lies beside that mpicc.
    """
    include = Path(compiler).resolve().parent.parent / "include"
    headers = [include / name for name in _HEADERS if (include / name).is_file()]
    if not headers:
        return None
    return f"interposer-{_digest_of([*headers, *sources()])}.so"


def find(compiler: str, folder: Path | None = None) -> Path | None:
    """Return the interposer that fits the MPI of an mpicc, if one has come with this installation.

    folder: where to look for it, in place of our own.
    """
    name = file_name(compiler)
    path = (folder or _FOLDER) / name if name else None
    return path if path and path.is_file() else None


def _digest_of(files: Iterable[Path]) -> str:
    return hashlib.sha256("\0".join(path.read_text() for path in files).encode()).hexdigest()[:16]
