"""The courses that a command knows: those it was told of, those installed, and the bundled one."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from grader.course.assignment import Assignment
from grader.course.course import FILE, Course
from grader.model.errors import GraderError, UsageError
from grader.model.spelling import did_you_mean

VARIABLE = "GRADER_COURSE"
"""Names folders of courses, separated as in PATH."""
GROUP = "grader.courses"
"""The entry points by which packages name the folders of the courses that they install."""


@dataclass(frozen=True)
class Courses:
    """Several courses, in the order in which they are looked through."""

    courses: tuple[Course, ...]

    def assignments(self) -> list[Assignment]:
        """Read all assignments. Raises GraderError where a file is not right."""
        return [found for course in self.courses for found in course.assignments()]

    def readable(self) -> list[Assignment]:
        """Read those assignments whose files are right."""
        return [found for course in self.courses for found in course.readable()]

    def assignment(self, name: str, course: str = "") -> Assignment:
        """Read the assignment called `NAME`, or `COURSE/NAME` where several have one.

        course: whose it is, where its name alone does not say. Raises UsageError where there is
        none, or more than one.
        """
        return self.having(name, course).load(name.rpartition("/")[2])

    def having(self, name: str, course: str = "") -> Course:
        """Return the course with an assignment of that name, which need not be right.

        Raises UsageError as `assignment` does.
        """
        course_name, _, own_name = name.rpartition("/")
        having = [
            each
            for each in self.courses
            if own_name in each.names() and course_name in ("", each.name)
        ]
        if not having:
            known = self.names()
            listed = ", ".join(known) or "none"
            raise UsageError(
                f"unknown assignment {name!r}; known assignments: {listed}"
                f"{did_you_mean(name, known)}"
            )
        having = [each for each in having if each.name == course] or having
        if len(having) > 1:
            ways = " or ".join(f"{each.name}/{own_name}" for each in having)
            raise UsageError(f"several courses have an assignment {own_name}; name one: {ways}")
        return having[0]

    def of(self, assignment: Assignment) -> Course:
        """Return the course that an assignment belongs to. Raises KeyError for none of these."""
        for course in self.courses:
            if course.suites == assignment.folder.parent:
                return course
        raise KeyError(assignment.name)

    def names(self) -> list[str]:
        """Return the names of all assignments, with their course where two have the same."""
        pairs = [(course.name, name) for course in self.courses for name in course.names()]
        short = [name for _, name in pairs]
        return [name if short.count(name) == 1 else f"{course}/{name}" for course, name in pairs]

    def wanted(self, name: str | None = None) -> list[str]:
        """Return all names of files that the assignments ask for, or only those of one."""
        asked = self.assignments() if name is None else [self.assignment(name)]
        return [name for each in asked for name in each.wanted]


def bundled_root() -> Path | None:
    """Return the folder of the course that lies around this package, if one does."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / FILE).is_file() else None


def installed_roots() -> list[Path]:
    """Return the folders of the courses that packages have installed, in the order of their names.

    Nothing is imported: an entry point names a folder where packages lie.
    """
    found = sorted(metadata.entry_points(group=GROUP), key=lambda each: each.name)
    return [Path(str(each.dist.locate_file(each.value))).resolve() for each in found if each.dist]


def bundled() -> Course:
    """Read the course that lies around this package. Raises GraderError where none does."""
    root = bundled_root()
    if root is None:
        raise GraderError("this installation has no course")
    return Course.read(root)


def how_to_build(course: Course) -> str:
    """Return in words which command makes the image of a course."""
    if course.root == bundled_root():
        return "run `make image`"
    return f"run `grade --course {course.root} build`, then grade with --image {course.name}"


def find_courses(
    named: Sequence[Path] = (),
    environment: Mapping[str, str] = os.environ,
    *,
    requires_one: bool = True,
) -> Courses:
    """Return the courses in the named folders, or else in GRADER_COURSE; last those that are there.

    These are the bundled one and the installed ones, in place of which a named one of the same name
    is taken. Raises UsageError for a folder without a course and for two courses of one name,
    GraderError where there is no course at all but one is required.
    """
    folders = list(named) or [
        Path(folder) for folder in environment.get(VARIABLE, "").split(os.pathsep) if folder
    ]
    courses = [Course.read(folder) for folder in dict.fromkeys(map(Path.resolve, folders))]
    named_before = {course.name for course in courses}
    for root in filter(None, [bundled_root(), *installed_roots()]):
        if root not in [course.root for course in courses]:
            last = Course.read(root)
            courses += [last] if last.name not in named_before else []
    if requires_one and not courses:
        raise GraderError(
            f"no course is installed: name a course's folder with --course or in {VARIABLE}"
        )
    by_name: dict[str, Course] = {}
    for course in courses:
        other = by_name.setdefault(course.name, course)
        if other is not course:
            raise UsageError(
                f"{other.root} and {course.root} are both called {course.name!r}; rename one "
                f"of them in its {FILE}"
            )
    return Courses(tuple(courses))
