"""Finds the author of a file in the folder of a class, by the platform's part of its name.

A student chooses the rest of the name, and could imitate a platform there. So names are read as one
declared platform writes them, and have no author if the roster allows two readings.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from grader.addons.classroom.roster import Roster
from grader.intake.submission import ARCHIVES, NOT_OPENED

PLATFORMS = ("moodle", "canvas", "blackboard", "gradescope", "github")
BEGIN_WITH_ASSIGNMENT = ("blackboard", "github")
"""Platforms whose names begin with what the assignment is called there."""

_CANVAS_FILE = r"(?:(?P<number>[0-9]+)_(?P<file>.+)|(?:text|link)\.html)"
_TAILS = {
    "moodle": re.compile(
        r"_(?P<moodle>[0-9]+)_assignsubmission_(?P<plugin>file|onlinetext)(?:_(?P<file>.*))?", re.S
    ),
    "canvas": re.compile(rf"_(?P<late>(?:LATE|late)_)?(?P<canvas>[0-9]+)_{_CANVAS_FILE}", re.S),
    "blackboard": re.compile(
        r"_attempt_(?P<at>[0-9]{4}(?:-[0-9]{2}){5})(?:_(?P<file>.+)|\.txt)?", re.S
    ),
}
"""What platforms write behind the name or username of a student, and the student's name of a file.

The second number of Canvas is that of a file: two of one submission have the first in common.
"""
_CANVAS_ANONYMOUS = re.compile(
    rf"(?P<late>(?:LATE|late)_)?(?P<canvas>anon_[^_]+)_{_CANVAS_FILE}", re.S
)
_GRADESCOPE = re.compile(r"submission_[0-9]+")
_CANVAS_ATTEMPT = re.compile(r"-[0-9]+(?=\.[^.]+$)")
"""Canvas calls the second file of a name `ring-1.py`."""


@dataclass(frozen=True)
class Named:
    """What a name in the folder of a class says."""

    label: str
    """The same for all files of one submission."""
    who: Mapping[str, str]
    """What the platform says of the author, by column of the roster; empty where there is none."""
    file: str = ""
    """What the student had called the file; empty for a folder, or where the name does not say."""
    file_before: str = ""
    """As the student had called it, where the platform has added a number."""
    local_time: datetime | None = None
    """When it was submitted, on the clock of the platform."""
    is_called_late: bool = False
    is_about: bool = False
    """Not a file of a submission, but text typed into the platform, or added by Blackboard."""
    sent_as: str = ""
    """How the name of feedback begins, where that is not the label."""
    problem: str = ""
    """Why the name has no author, as a sentence for the instructor; empty if it has one."""
    maybe_of: tuple[str, ...] = ()
    """The labels of all readings, if there are several: the file may belong to any of them."""


@dataclass(frozen=True)
class Naming:
    """How the files of a class are called."""

    platform: str = ""
    """Of PLATFORMS; empty where each is called by an id on the roster."""
    assignment: str = ""
    """What the platform calls the assignment, where names begin with that."""
    roster: Roster = field(default_factory=Roster)

    def parse(self, name: str) -> Named:
        """Return what the name of a file or folder says, as the declared platform writes it.

        Any other name is an id, such as `anna` or `anna.zip`; beside a platform's names, one on the
        roster.
        """
        # Some systems unpack an accent as a letter of its own.
        name = unicodedata.normalize("NFC", name)
        stem = without_suffix(name)
        found = list(self._readings(name))
        if len(found) > 1 and [each for each in found if self._is_possible(each)] != found[:1]:
            labels = tuple(each.label for each in found)
            return Named(name, {}, name, problem=self._several(name, found), maybe_of=labels)
        # Moodle writes no underline into a student's name: before this one stands another's.
        if found and "_" not in found[0].who.get("name", ""):
            return found[0]
        file = name if stem != name else ""
        if self.platform and not self.roster.is_called("id", stem):
            where = f" of {self.assignment!r}" if self.assignment else ""
            problem = (
                f"{name} does not match {self.platform}'s names for hand-ins{where}, so it does "
                f"not count for any student. Give it back the name from {self.platform}, or rename "
                "it to its author's id on the roster"
            )
            return Named(stem, {}, file, problem=problem)
        return Named(stem, {"id": stem}, file)

    def or_inferred(self, names: Iterable[str]) -> "Naming":
        """Return the naming by the only platform that can have written all names of a folder.

        Returns itself if a platform is declared, or if none or several fit. Platforms whose names
        begin with the assignment's are never inferred, and Canvas only if the roster agrees.
        """
        theirs = [each for each in names if not self.roster.is_called("id", without_suffix(each))]
        known = [replace(self, platform=each) for each in ("moodle", "canvas", "gradescope")]
        fitting = [each for each in known if all(any(each._readings(name)) for name in theirs)]
        if self.platform or not theirs or len(fitting) != 1:
            return self
        is_sure = fitting[0].platform != "canvas" or all(
            self.roster.has(fitting[0].parse(name).who) for name in theirs
        )
        return fitting[0] if is_sure else self

    def undeclared(self, name: str) -> str:
        """Return the platform whose pattern a name has, if none is declared; empty for an id."""
        if self.platform or self.roster.is_called("id", without_suffix(name)):
            return ""
        platforms = ("moodle", "canvas", "blackboard", "gradescope")
        found = next((each for each in platforms if any(Naming(each)._readings(name))), "")
        is_github = not found and self.roster.has_github_at_end(without_suffix(name))
        return "github" if is_github else found

    def _readings(self, name: str) -> Iterator[Named]:
        """Yield all that a name can say on the platform, the first place in it first."""
        title = unicodedata.normalize("NFC", self.assignment)
        stem = without_suffix(name)
        if self.platform == "gradescope" and _GRADESCOPE.fullmatch(name):
            yield Named(name, {"gradescope": name.partition("_")[2]})
        elif self.platform == "github" and (user := _behind(f"{title}-", stem)):
            yield Named(stem, {"github": user}, name if stem != name else "")
        elif self.platform == "canvas" and (found := _CANVAS_ANONYMOUS.fullmatch(name)):
            yield from _of_canvas("", found, title)
        elif tail := _TAILS.get(self.platform):
            for at in (at for at, char in enumerate(name) if char == "_"):
                if found := tail.fullmatch(name, at):
                    yield from _READERS[self.platform](name[:at], found, title)

    def _several(self, name: str, readings: Sequence[Named]) -> str:
        """Return what to do about a name with several readings."""
        first, second, *_ = (f"{self.platform} {each.who[self.platform]}" for each in readings)
        remedy = (
            "Move all the author's files into a folder named after the author's id on the roster"
        )
        # Where the roster has all numbers, no more of them can decide it.
        if self.platform != "blackboard" and self.roster.may_have(self.platform, ""):
            remedy = (
                f"Add every student's {self.platform} number to the roster, or move all the "
                "author's files into a folder named after the author's id there"
            )
        return f"{name} can mean {first} or {second}, and the roster does not say which. {remedy}"

    def _is_possible(self, reading: Named) -> bool:
        """Return whether the author may be on the roster: not if all there have other numbers."""
        return self.roster.may_have(self.platform, reading.who[self.platform])


def _behind(beginning: str, name: str) -> str:
    """Return the rest of a name after this beginning; empty if it begins otherwise."""
    return name[len(beginning) :] if name.startswith(beginning) else ""


def _of_moodle(before: str, found: re.Match[str], _: str) -> Iterator[Named]:
    label = f"{before}_{found['moodle']}_assignsubmission_file"
    who = {"name": before, "moodle": found["moodle"]}
    is_about = found["plugin"] == "onlinetext"
    yield Named(label, who, found["file"] or "", is_about=is_about, sent_as=f"{label}_/")


def _of_canvas(before: str, found: re.Match[str], _: str) -> Iterator[Named]:
    if before.endswith(("_LATE", "_late")):  # the platform's word, and no end of a name
        return
    file = found["file"] or ""
    # Canvas takes the first two numbers between underlines, and a student chooses the own name.
    name = re.sub(r"[\d_]", "", before) or "student" if before else ""
    yield Named(
        found.string[: found.end("canvas")],
        {"canvas": found["canvas"], **({"canvas_name": before} if before else {})},
        file,
        _CANVAS_ATTEMPT.sub("", file),
        is_called_late=found["late"] is not None,
        is_about=not file,
        sent_as=f"{name}{found.string[found.start() : found.end('number')]}_" if file else "",
    )


def _of_blackboard(before: str, found: re.Match[str], title: str) -> Iterator[Named]:
    user = _behind(title and f"{title}_", before)
    try:
        at = datetime.strptime(found["at"], "%Y-%m-%d-%H-%M-%S")
    except ValueError:  # a student has written what looks like a time
        return
    label, is_about = found.string[: found.end("at")], found[0] == f"_attempt_{found['at']}.txt"
    if user:
        who = {"blackboard": user}
        yield Named(label, who, found["file"] or "", local_time=at, is_about=is_about)


_READERS = {"moodle": _of_moodle, "canvas": _of_canvas, "blackboard": _of_blackboard}


def without_suffix(name: str) -> str:
    """Return a name without the suffix of an archive."""
    known = (*ARCHIVES, *NOT_OPENED)
    suffix = max((each for each in known if name.lower().endswith(each)), key=len, default="")
    return name.removesuffix(name[len(name) - len(suffix) :]) if suffix else name


def is_archive(name: str) -> bool:
    """Return whether a file is called as archives are."""
    return name.lower().endswith(ARCHIVES)
