"""The folder that a course publishes: what one `pip install -r requirements.txt` installs."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader import __version__
from grader.addons.authoring.installation.wheels import (
    DISTRIBUTION,
    EngineWheels,
    course_wheel,
    name_of,
    version_of,
)
from grader.course.course import Course
from grader.course.edition import Files
from grader.model.errors import GraderError, UsageError
from grader.report.html.page import page

_ENTRY = re.compile(r"^([a-z0-9][a-z0-9.-]*)==", re.MULTILINE)
_WANTED_BY = re.compile(r"^ {4}#(?: via)? +(?!via$)(\S.*)$", re.MULTILINE)


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
        raise GraderError(f"the lock lacks {', '.join(missing)}; make it again with `make lock`")
    while wanted:
        found |= wanted
        wanted = {each.name for each in known if each.wanted_by & found} - found
    return [package for package in known if package.name in found]


def indexes(lock: str) -> list[str]:
    """Return the lines of a lock that name where to look for packages."""
    return [line for line in lock.splitlines() if line.startswith("--")]


_TORCH, _STUDY = "torch", "study"
"""Extras of the engine: the second brings what `grade study` draws with."""


def write(
    folder: Path, course: Course, files: Files, engine: EngineWheels, locked: str, url: str | None
) -> list[Path]:
    """Write a new folder with the wheels, requirements.txt and a page; return its files.

    files: the students' edition. locked: the lock of the engine's packages. url: where the folder
    is going to be published; None where students get the folder itself. Raises UsageError where it
    cannot be written, GraderError where the lock lacks a package.
    """
    wheels = {file.name: file.read_bytes() for file in engine.files}
    name, data = course_wheel(course, files)
    wheels[name] = data
    where = "." if url is None else f"{url.rstrip('/')}/index.html"
    text = requirements(course, files, engine, locked, wheels, where)
    line = install_line(None if url is None else url.rstrip("/"))
    shown = page(
        "addons/authoring/installation/index.html", course.title, names=[*wheels], line=line
    )
    contents = {**wheels, "requirements.txt": text.encode(), "index.html": shown.encode()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in contents.items():
            (folder / name).write_bytes(data)
    except OSError as error:
        raise UsageError(
            f"the installation cannot be written to {folder}: {error.strerror}; name another folder"
        ) from None
    return [folder / name for name in contents]


def requirements(
    course: Course,
    files: Files,
    engine: EngineWheels,
    locked: str,
    wheels: dict[str, bytes],
    where: str,
) -> str:
    """Return what is to be installed: every package by version and hash, and where to look for it.

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
        f"# To grade as {course.name} does, by `pip install -r` of this file in a virtual",
        "# environment. Written by `grade build`: every file is checked against its hash.",
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
