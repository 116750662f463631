"""Writes what a course publishes for its students: wheels, and a requirements.txt for pip."""

import base64
import hashlib
import io
import re
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader import __version__
from grader.addons.authoring.template import write_files
from grader.course.course import Course
from grader.course.courses import GROUP
from grader.course.edition import Files
from grader.course.versions import engine_digest
from grader.model.errors import GraderError
from grader.report.html.page import page

_ENTRY = re.compile(r"^([a-z0-9][a-z0-9.-]*)==", re.MULTILINE)
_WANTED_BY = re.compile(r"^ {4}#(?: via)? +(?!via$)(\S.*)$", re.MULTILINE)

DISTRIBUTION = "distributed-grader"
"""The engine's name as a package."""
_STEM = f"{DISTRIBUTION.replace('-', '_')}-{__version__}"


@dataclass(frozen=True)
class EngineWheels:
    """The same engine for several architectures."""

    files: tuple[Path, ...]
    requirements: tuple[Requirement, ...]
    """The packages that it depends on, including those of extras."""

    @classmethod
    def find(cls, folder: Path) -> "EngineWheels":
        """Return the wheels in a folder. Raises GraderError for none, or another engine's."""
        files = tuple(sorted(folder.glob(f"{_STEM}-*.whl")))
        if not files:
            raise GraderError(
                f"{folder} contains no {_STEM}-*.whl: build the engine's wheels with `make "
                "wheels`, or name their folder with --wheels"
            )
        for file in files:
            _require_this_engine(file)
        with zipfile.ZipFile(files[0]) as wheel:
            text = wheel.read(f"{_STEM}.dist-info/METADATA").decode()
        needs = HeaderParser().parsestr(text).get_all("Requires-Dist", [])
        return cls(files, tuple(map(Requirement, needs)))

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
                f"{file} was not built from this engine's sources; rebuild it with `make wheels`"
            )


_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time of a zip: the same files make the same wheel."""


def name_of(course: Course) -> str:
    """Return the name of a course as a package."""
    return f"{course.name.replace('_', '-')}-course"


def version_of(files: Files) -> str:
    """Return the version of an edition: it changes with every change to a file."""
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


@dataclass(frozen=True)
class Locked:
    """One package as a lock has it, for one kind of machine or for all."""

    name: str
    text: str
    """Its lines: version, markers and hashes."""
    wanted_by: frozenset[str]
    """The packages that depend on it."""


def packages(lock: str) -> list[Locked]:
    """Return the packages of a lock that `uv pip compile` has written, in its order."""
    starts = [match.start() for match in _ENTRY.finditer(lock)]
    found = []
    for start, end in zip(starts, [*starts[1:], len(lock)], strict=True):
        text = lock[start:end]
        lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
        name = text.partition("==")[0]
        found.append(Locked(name, "\n".join(lines), frozenset(_WANTED_BY.findall(text))))
    return found


def needed(lock: str, names: Iterable[str]) -> list[Locked]:
    """Return the packages of these names and all that they depend on, in the order of the lock.

    Raises GraderError for a name that the lock does not have.
    """
    known = packages(lock)
    wanted, found = set(names), set[str]()
    missing = sorted(wanted - {package.name for package in known})
    if missing:
        raise GraderError(f"requirements.lock lacks {', '.join(missing)}; run `make lock`")
    while wanted:
        found |= wanted
        wanted = {each.name for each in known if each.wanted_by & found} - found
    return [package for package in known if package.name in found]


def indexes(lock: str) -> list[str]:
    """Return the lines of a lock that name where to look for packages."""
    return [line for line in lock.splitlines() if line.startswith("--")]


_TORCH, _STUDY = "torch", "study"
"""Extras of the engine: the second has the packages that `grade study` draws with."""


def write(
    folder: Path, course: Course, files: Files, engine: EngineWheels, locked: str, url: str | None
) -> list[Path]:
    """Write a new folder with the wheels, requirements.txt and a page; return its files.

    files: the students' edition. locked: the lock of the engine's packages. url: where the folder
    will be published; None if students get the folder itself. Raises UsageError if it cannot be
    written, GraderError if the lock lacks a package.
    """
    wheels = {file.name: file.read_bytes() for file in engine.files}
    wheels |= dict([course_wheel(course, files)])
    where = "." if url is None else f"{url.rstrip('/')}/index.html"
    text = requirements(course, files, engine, locked, wheels, where)
    line = install_line(None if url is None else url.rstrip("/"))
    shown = page(
        "addons/authoring/installation/index.html", course.title, names=[*wheels], line=line
    )
    contents = {**wheels, "requirements.txt": text.encode(), "index.html": shown.encode()}
    return write_files({folder / name: data for name, data in contents.items()})


def requirements(
    course: Course,
    files: Files,
    engine: EngineWheels,
    locked: str,
    wheels: dict[str, bytes],
    where: str,
) -> str:
    """Return requirements.txt: every package with its version and hash, and where to find it.

    wheels: the engine's and the course's, by the names of their files. where: a folder or a page.
    """
    extras = _extras(course)
    packages_needed = needed(locked, engine.needs(extras))
    asked = f"[{','.join(extras)}]" if extras else ""
    own = {
        f"{DISTRIBUTION}{asked}=={__version__}": DISTRIBUTION,
        f"{name_of(course)}=={version_of(files)}": name_of(course),
    }
    lines = [
        f"# To grade as the course {course.name} does, run `pip install -r` on this file in a",
        "# virtual environment. `grade build` wrote this file; pip checks each package's hash.",
        *(indexes(locked) if _TORCH in extras else []),
        f"--find-links {where}",
    ]
    for requirement, name in own.items():
        stem = f"{name.replace('-', '_')}-"
        hashes = [
            f"    --hash=sha256:{hashlib.sha256(data).hexdigest()}"
            for file, data in wheels.items()
            if file.startswith(stem)
        ]
        lines.append(" \\\n".join([requirement, *hashes]))
    return "\n".join([*lines, *(each.text for each in packages_needed), ""])


def _extras(course: Course) -> list[str]:
    """Return the extras of the engine that the ranks and studies of a course need."""
    found = set()
    for each in course.assignments():
        packages = {module.partition(".")[0] for module in each.needs}
        if "torch" in packages:
            found.add(_TORCH)
        if "matplotlib" in packages or (each.folder / "study").is_dir():
            found.add(_STUDY)
    return sorted(found)


def install_line(url: str | None) -> str:
    """Return the line that students type, in a virtual environment."""
    return f"pip install -r {f'{url}/' if url else ''}requirements.txt"
