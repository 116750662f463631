"""The wheels that students install: the engine's, one for each architecture, and their course's."""

import base64
import hashlib
import io
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader import __version__
from grader.course.course import Course
from grader.course.courses import GROUP
from grader.course.edition import Files
from grader.course.versions import engine_digest
from grader.model.errors import GraderError

DISTRIBUTION = "distributed-grader"
"""What the engine is called where packages are published."""
_STEM = f"{DISTRIBUTION.replace('-', '_')}-{__version__}"


@dataclass(frozen=True)
class EngineWheels:
    """The same engine for several architectures."""

    files: tuple[Path, ...]
    requirements: tuple[Requirement, ...]
    """The packages that it depends on, also where an extra is asked for."""

    @classmethod
    def find(cls, folder: Path) -> "EngineWheels":
        """Return the wheels in a folder.

        Raises GraderError where there is none, or one was made from other sources than this engine.
        """
        files = tuple(sorted(folder.glob(f"{_STEM}-*.whl")))
        if not files:
            raise GraderError(
                f"{folder} holds no {_STEM}-*.whl: make the engine's wheels with `make wheels`, or "
                "name their folder with --wheels"
            )
        for file in files:
            _require_this_engine(file)
        return cls(files, tuple(_requirements(files[0])))

    def needs(self, extras: Iterable[str] = ()) -> list[str]:
        """Return the names of the packages that it depends on, with those of some extras."""
        wanted = ("", *extras)
        return [
            canonicalize_name(each.name)
            for each in self.requirements
            if each.marker is None
            or any(each.marker.evaluate({"extra": extra}) for extra in wanted)
        ]


def _require_this_engine(file: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="grader-wheel-") as folder:
        with zipfile.ZipFile(file) as wheel:
            wheel.extractall(folder)
        if engine_digest(Path(folder) / "grader") != engine_digest():
            raise GraderError(
                f"{file} was made from other sources than this engine's; make it again with "
                "`make wheels`"
            )


def _requirements(file: Path) -> Iterator[Requirement]:
    with zipfile.ZipFile(file) as wheel:
        text = wheel.read(f"{_STEM}.dist-info/METADATA").decode()
    for line in HeaderParser().parsestr(text).get_all("Requires-Dist", []):
        yield Requirement(line)


_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time of a zip: the same files course_wheel the same wheel."""


def name_of(course: Course) -> str:
    """Return what the wheel of a course is called where packages are installed."""
    return f"{course.name.replace('_', '-')}-course"


def version_of(files: Files) -> str:
    """Return the version of an edition: another as soon as a file is another."""
    digest = hashlib.sha256()
    for path, file in sorted(files.items()):
        digest.update(f"{path}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode())
    return f"0.{int(digest.hexdigest()[:12], 16)}"


def course_wheel(course: Course, files: Files) -> tuple[str, bytes]:
    """Return the wheel of an edition of a course: the name of its file, and its bytes.

    By the Wheel format 1.0, with one entry point that names the folder of the course.
    """
    name, version = name_of(course), version_of(files)
    stem = f"{name.replace('-', '_')}-{version}"
    folder = f"grader_course_{course.name.replace('-', '_')}"
    contents = {f"{folder}/{path}": file.read_bytes() for path, file in files.items()}
    info = f"{stem}.dist-info"
    for file_name, lines in {
        "METADATA": (
            *("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"),
            *(f"Summary: {course.title}", f"Requires-Dist: {DISTRIBUTION}"),
        ),
        "WHEEL": (
            *("Wheel-Version: 1.0", "Generator: grade build"),
            *("Root-Is-Purelib: true", "Tag: py3-none-any"),
        ),
        "entry_points.txt": (f"[{GROUP}]", f"{course.name} = {folder}"),
    }.items():
        contents[f"{info}/{file_name}"] = "".join(f"{line}\n" for line in lines).encode()
    contents[f"{info}/RECORD"] = _record(contents, f"{info}/RECORD")
    return f"{stem}-py3-none-any.whl", _zipped(contents)


def _record(contents: Mapping[str, bytes], own_name: str) -> bytes:
    """Return the list of all files with their digests, in which it names itself without one."""
    lines = [
        f"{PurePosixPath(name)},{_digest(data)},{len(data)}" for name, data in contents.items()
    ]
    return "\n".join([*lines, f"{own_name},,", ""]).encode()


def _digest(data: bytes) -> str:
    encoded = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={encoded.decode()}"


def _zipped(contents: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(entry, data)
    return buffer.getvalue()
