"""Writes a new assignment that works at once: a small one, copied under a new name."""

import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from grader.addons.authoring.template import generate, write_files
from grader.course.course import FILE, Course
from grader.course.strict_toml import NAME
from grader.model.errors import UsageError

_SKELETON = Path(__file__).parent / "new_assignment"
_NAME = "example"
"""The name of the skeleton's assignment."""
_RENAMED = {"solution": "reference"}
"""Folders with another name here, because students' installations may contain no `reference`."""
_COURSE = "my-course"
"""The name of the skeleton's course."""


def write(root: Path, name: str) -> list[Path]:
    """Write a new assignment into the course in a folder, which becomes a course if it is none.

    Returns the files that were written, including the template. Before it writes anything, raises
    UsageError for an invalid name or for files that exist already, and GraderError if the folder's
    course.toml is invalid.
    """
    _require_name(name)
    makes_course = not (root / FILE).exists()
    course = None if makes_course else Course.read(root)
    files = {root / path: text for path, text in _renamed(name)}
    taken = [path for path in files if path.exists()]
    if taken:
        raise UsageError(f"{taken[0]} exists already: choose another name for the assignment")
    if makes_course:
        text = (_SKELETON / FILE).read_text()
        files = {root / FILE: text.replace(_COURSE, _course_name(root)), **files}
    write_files({path: text.encode() for path, text in files.items()})
    course = course or Course.read(root)
    return [*files, *generate(course.references / name, course.templates / name)]


def _require_name(name: str) -> None:
    """Raise UsageError for a name that no assignment can have: its suites are a package."""
    is_taken = keyword.iskeyword(name) or name in sys.stdlib_module_names
    is_hidden = name.startswith(("hidden", "test_hidden"))  # which no student gets
    if not re.match(NAME, name) or is_taken or is_hidden:
        raise UsageError(
            f"{name!r} is not a valid assignment name: expected lower-case letters, digits, and "
            "underscores, such as halo_exchange. It must not be a Python keyword or the name of a "
            "standard module, or begin with hidden or test_hidden"
        )


def _course_name(root: Path) -> str:
    """Return the folder's name as that of a course, or a plain one where it cannot be."""
    name = re.sub(r"[^a-z0-9_-]+", "-", root.resolve().name.lower()).strip("-_")
    return name if re.match(r"[a-z]", name) else _COURSE


def _renamed(name: str) -> Iterator[tuple[Path, str]]:
    """Yield the skeleton's files, by their paths in a course, with the name in place of its own."""
    for file in sorted(_SKELETON.rglob("*")):
        relative = file.relative_to(_SKELETON)
        if file.is_file() and "__pycache__" not in file.parts and relative.name != FILE:
            parts = (_RENAMED.get(part, part) for part in relative.parts)
            parts = (name if part == _NAME else part for part in parts)
            text = file.read_text().replace(f"assignment {_NAME}", f"assignment {name}")
            yield Path(*parts), text
