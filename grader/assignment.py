"""What a course hands out: parts, files, points, read from `assignment.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import GraderError, UsageError


@dataclass(frozen=True)
class Part:
    """One gradable piece of an assignment."""

    name: str
    title: str
    files: tuple[str, ...]
    """What a student hands in for it."""
    entry: str
    """The call that is graded, as the handout writes it."""
    suite: str
    points: float
    mpi_init: str
    case_time_limit_s: float
    builds_on: str | None = None
    stand_in: Mapping[str, str] | None = None
    """Files that replace the student's when the part this one builds on has failed: name to path
    below the suite's folder."""


@dataclass(frozen=True)
class Manual:
    """A piece that a person marks."""

    name: str
    title: str
    points: float
    file: str


@dataclass(frozen=True)
class Assignment:
    """One assignment and the folder of its suites."""

    name: str
    title: str
    folder: Path
    support: tuple[str, ...]
    parts: tuple[Part, ...]
    manual: tuple[Manual, ...]

    @property
    def handed_in(self) -> tuple[str, ...]:
        """Return all file names a student may hand in, in the order of the parts."""
        return tuple(dict.fromkeys(file for part in self.parts for file in part.files))


def names(suites: Path) -> list[str]:
    """Return the assignments there are."""
    return sorted(file.parent.name for file in suites.glob("*/assignment.toml"))


def load(name: str, suites: Path) -> Assignment:
    """Read one assignment.

    Raises UsageError when there is none of that name, GraderError when its file is not right.
    """
    folder = suites / name
    if name not in names(suites):
        known = ", ".join(names(suites)) or "none is installed"
        raise UsageError(f"unknown assignment {name!r}; known are: {known}")
    file = folder / "assignment.toml"
    try:
        data = tomllib.loads(file.read_text())
        return Assignment(
            name=name,
            title=data["title"],
            folder=folder,
            support=tuple(data.get("support", ())),
            parts=tuple(_part(part) for part in data["parts"]),
            manual=tuple(Manual(**manual) for manual in data.get("manual", ())),
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise GraderError(f"{file.name} of {name} is not right: {error!r}") from None


def _part(data: dict[str, Any]) -> Part:
    stand_in = data.get("stand_in")
    return Part(
        name=data["name"],
        title=data["title"],
        files=tuple(data["file"]),
        entry=data["entry"],
        suite=data["suite"],
        points=data["points"],
        mpi_init=data["mpi_init"],
        case_time_limit_s=data["case_time_limit_s"],
        builds_on=data.get("builds_on"),
        stand_in=stand_in if isinstance(stand_in, dict) else None,
    )
