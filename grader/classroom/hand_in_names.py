"""Who handed in what, by the names that platforms give to the files they deliver."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_OTHER_ARCHIVES = (".rar", ".7z")
"""Of which the grading says that they cannot be opened."""

_MOODLE = re.compile(
    r"(?P<name>.+)_(?P<moodle>\d+)_assignsubmission_(?P<plugin>file|onlinetext)(?:_(?P<file>.*))?"
)
_BLACKBOARD = re.compile(
    r"(?P<blackboard>.+_[^_]+)_attempt_(?P<at>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|\.txt)?"
)
_CANVAS = re.compile(
    r"(?P<canvas_name>.+?)_(?P<late>LATE_)?(?P<canvas>\d+)_"
    r"(?:(?P<number>\d+)_(?P<file>.+)|(?:text|link)\.html)"
)
"""The second number is that of a file: two of one submission have the first in common."""
_CANVAS_ANONYMOUS = re.compile(
    r"(?P<late>LATE_)?(?P<canvas>anon_[^_]+)_(?:(?P<number>\d+)_(?P<file>.+)|(?:text|link)\.html)"
)
_GRADESCOPE = re.compile(r"submission_(?P<gradescope>\d+)")
_CANVAS_ATTEMPT = re.compile(r"-\d+(?=\.[^.]+$)")
"""Canvas calls the second file of a name `ring-1.py`."""


@dataclass(frozen=True)
class Named:
    """What a name in the folder of a class says."""

    label: str
    """The same for all files of one submission."""
    who: Mapping[str, str]
    file: str = ""
    """What the student had called the file; empty for a folder, or where the name does not say."""
    file_before: str = ""
    """As the student had called it, where the platform has added a number."""
    local_time: datetime | None = None
    """When it was submitted, on the clock of the platform."""
    is_called_late: bool = False
    is_about: bool = False
    """It is no file of a submission: what was typed in, or the text that Blackboard adds."""
    sent_as: str = ""
    """How the name of feedback begins, where the platform needs more than the label."""


def parse(name: str) -> Named:
    """Return what the name of a folder or file says, of Moodle, Canvas, Gradescope or Blackboard.

    Any other name is the student's id, such as `anna`, or `anna.zip`.
    """
    if found := _MOODLE.fullmatch(name):
        label = f"{found['name']}_{found['moodle']}_assignsubmission_file"
        who = {"name": found["name"], "moodle": found["moodle"]}
        return Named(label, who, found["file"] or "", is_about=found["plugin"] == "onlinetext")
    if found := _BLACKBOARD.fullmatch(name):
        label = name[: found.end("at")]
        at = datetime.strptime(found["at"], "%Y-%m-%d-%H-%M-%S")
        # With the assignment before it: either may have underlines, and the roster tells.
        who = {"blackboard": found["blackboard"]}
        is_about = name.endswith(f"{found['at']}.txt")
        return Named(label, who, found["file"] or "", local_time=at, is_about=is_about)
    if found := _CANVAS_ANONYMOUS.fullmatch(name) or _CANVAS.fullmatch(name):
        return _of_canvas(name, found)
    if found := _GRADESCOPE.fullmatch(name):
        return Named(name, {"gradescope": found["gradescope"]})
    stem = without_suffix(name)
    return Named(stem, {"id": stem}, name if stem != name else "")


def _of_canvas(name: str, found: re.Match[str]) -> Named:
    label, file = name[: found.end("canvas")], found["file"] or ""
    who = {"canvas": found["canvas"]}
    if "canvas_name" in found.groupdict():
        who["canvas_name"] = found["canvas_name"]
    return Named(
        label,
        who,
        file,
        _CANVAS_ATTEMPT.sub("", file),
        is_called_late=found["late"] is not None,
        is_about=not file,
        sent_as=name[: found.end("number")] if file else label,
    )


def without_suffix(name: str) -> str:
    """Return a name without what says that it is an archive."""
    known = (*ARCHIVES, *_OTHER_ARCHIVES)
    suffix = max((each for each in known if name.lower().endswith(each)), key=len, default="")
    return name.removesuffix(name[len(name) - len(suffix) :]) if suffix else name


def is_archive(name: str) -> bool:
    """Return whether a file is called as archives are."""
    return name.lower().endswith(ARCHIVES)
