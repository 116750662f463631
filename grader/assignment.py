"""What a course hands out: parts, files, points, read from `assignment.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.errors import GraderError, UsageError
from grader.home import REFERENCES, SHARED_SUPPORT, TEMPLATES
from grader.model import WORLDS
from grader.points import checked
from grader.spelling import did_you_mean


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
    world: str
    """What connects its ranks, one of grader.model.WORLDS."""
    case_time_limit_s: float
    builds_on: str | None = None
    stand_in: Mapping[str, str] | None = None
    """Files that replace the student's when the part this one builds on has failed: name to path
    below the suite's folder."""
    accepted_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Other names under which a file may be handed in: it is graded under the first."""
    rules: tuple[str, ...] = ()
    """What a solution has to keep to beside being right, in the words of the table of parts."""
    hidden_points: float = 0
    """On top of `points`, where the course's file of hidden tests is there."""

    @property
    def hidden_suite(self) -> str:
        """Return the file of the hidden tests, which only the course has."""
        return f"hidden_{self.name}.py"


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
    needs: tuple[str, ...] = ()
    """Modules that its ranks import, beside numpy and mpi4py."""
    source: str = ""
    """The exercise it was made from, in words."""

    @property
    def handed_in(self) -> tuple[str, ...]:
        """Return all file names a student may hand in, in the order of the parts."""
        return tuple(dict.fromkeys(file for part in self.parts for file in part.files))

    @property
    def accepted_names(self) -> dict[str, tuple[str, ...]]:
        """Return all names that count for each handed-in file, the one asked for first."""
        names = {file: [file] for file in self.handed_in}
        for part in self.parts:
            for file, others in part.accepted_names.items():
                names[file] += others
        return {file: tuple(dict.fromkeys(each)) for file, each in names.items()}


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
        meant = did_you_mean(name, names(suites))
        raise UsageError(f"unknown assignment {name!r}; {meant}known are: {known}")
    file = folder / "assignment.toml"
    try:
        data = tomllib.loads(file.read_text())
        return Assignment(
            name=name,
            title=_text(data, "title"),
            folder=folder,
            support=_texts(data, "support", ()),
            parts=tuple(_part(part) for part in _tables(data, "parts")),
            manual=tuple(_manual(manual) for manual in _tables(data, "manual", ())),
            needs=_texts(data, "needs", ()),
            source=_text(data, "source", ""),
        )
    except (
        RecursionError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        raise GraderError(f"{file.name} of {name} is not right: {error!r}") from None


def wanted(suites: Path, name: str | None = None) -> list[str]:
    """Return all names of files that the assignments ask for, or only those of one assignment."""
    asked = [load(each, suites) for each in ([name] if name is not None else names(suites))]
    return [
        name for each in asked for accepted in each.accepted_names.values() for name in accepted
    ]


def support_paths(assignment: Assignment) -> dict[str, Path]:
    """Return where each support file lies: with the assignment, or with those that many share.

    Raises GraderError when one is not installed.
    """
    folders = (TEMPLATES / assignment.name, REFERENCES / assignment.name, SHARED_SUPPORT)
    found = {}
    for file in assignment.support:
        path = next((folder / file for folder in folders if (folder / file).is_file()), None)
        if path is None:
            raise GraderError(f"the support file {file} of {assignment.name} is not installed")
        found[file] = path
    return found


def probe_sources(assignment: Assignment) -> dict[str, str]:
    """Return the text of the rank-side code by module, `__init__` first: of probes.py or probes/.

    Raises GraderError where there is neither, or both.
    """
    file, folder = assignment.folder / "probes.py", assignment.folder / "probes"
    first = folder / "__init__.py"
    if file.is_file() == first.is_file():
        found = "both" if file.is_file() else "neither"
        raise GraderError(
            f"{assignment.name} has its probes either in probes.py or in probes/__init__.py and "
            f"modules beside it; found {found} in {assignment.folder}"
        )
    paths = [file] if file.is_file() else [first, *sorted({*folder.glob("*.py")} - {first})]
    return {"__init__" if path == file else path.stem: path.read_text() for path in paths}


def shared_support(assignment: Assignment) -> dict[str, Path]:
    """Return the support files that are not the assignment's own, with where they lie."""
    own = REFERENCES / assignment.name
    return {
        file: SHARED_SUPPORT / file for file in assignment.support if not (own / file).is_file()
    }


def _world(part: dict[str, Any]) -> str:
    world = str(part["world"])
    if world not in WORLDS:
        raise TypeError(f"world of {part['name']} is {world!r}, not one of {', '.join(WORLDS)}")
    return world


def _accepted_names(part: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    names = part.get("accepted_names", {})
    if not isinstance(names, dict):
        raise TypeError(f"accepted_names of {part['name']} is {names!r}, not a table")
    unknown = set(names) - set(part["file"])
    if unknown:
        raise KeyError(
            f"accepted_names of {part['name']} holds {unknown.pop()}, which it never asks"
        )
    return {file: _texts(names, file) for file in names}


def _part(data: dict[str, Any]) -> Part:
    stand_in = data.get("stand_in")
    return Part(
        name=_text(data, "name"),
        title=_text(data, "title"),
        files=_texts(data, "file"),
        entry=_text(data, "entry"),
        suite=_text(data, "suite"),
        points=checked(data["points"]),
        world=_world(data),
        case_time_limit_s=_number(data, "case_time_limit_s"),
        builds_on=None if "builds_on" not in data else _text(data, "builds_on"),
        stand_in=stand_in if isinstance(stand_in, dict) else None,
        accepted_names=_accepted_names(data),
        rules=_texts(data, "rules", ()),
        hidden_points=checked(data.get("hidden_points", 0)),
    )


def _manual(data: dict[str, Any]) -> Manual:
    return Manual(
        _text(data, "name"), _text(data, "title"), checked(data["points"]), _text(data, "file")
    )


def _text(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = data[key] if default is None else data.get(key, default)
    if not isinstance(value, str):
        raise TypeError(f"{key} is {value!r:.60}, not a text")
    return value


def _number(data: Mapping[str, Any], key: str) -> float:
    value = data[key]
    # What TOML calls nan is not at least 0 either.
    if type(value) not in (int, float) or not 0 <= value < float("inf"):
        raise TypeError(f"{key} is {value!r:.60}, not a number that is at least 0")
    number: float = value
    return number


def _texts(
    data: Mapping[str, Any], key: str, default: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    values = data[key] if default is None else data.get(key, default)
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) for each in values):
        raise TypeError(f"{key} is {values!r:.60}, not a list of texts")
    return tuple(values)


def _tables(
    data: Mapping[str, Any], key: str, default: tuple[dict[str, Any], ...] | None = None
) -> Sequence[dict[str, Any]]:
    values = data[key] if default is None else data.get(key, default)
    if not isinstance(values, list | tuple) or not all(isinstance(each, dict) for each in values):
        raise TypeError(f"{key} is {values!r:.60}, not a list of tables")
    return values
