"""The lock of the engine's packages, and the part of it that an installation needs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from grader.model.errors import GraderError

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
