"""A course: a folder with `course.toml`, and the suites, references and templates beside it."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from grader import __version__
from grader.course import assignment, strict_toml
from grader.course.assignment import Assignment
from grader.course.assignment_file import Level, Line
from grader.course.cross_references import source_files
from grader.course.strict_toml import Table, found_text
from grader.model.errors import GraderError, UsageError
from grader.model.report import Feedback
from grader.model.spelling import did_you_mean

FILE = "course.toml"
Name = Annotated[
    str,
    Meta(
        pattern=r"\A[a-z][a-z0-9_-]*\Z",
        description="a name of lower-case letters, digits, -, and _ that begins with a letter",
    ),
]


class CourseTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a course.toml says."""

    name: Name
    title: Line
    engine: Line
    """The range of versions of the engine that the course works with."""
    feedback: Level = Feedback.ALL
    hidden_feedback: Level = Feedback.VERDICT


@dataclass(frozen=True)
class Course:
    """What one course hands out and grades by. Its folders need not all be there."""

    name: str
    title: str
    root: Path
    suites: Path
    """Holds `<assignment>/assignment.toml` and the suites beside it."""
    references: Path
    """Not in what students are given."""
    templates: Path
    submissions: Path
    """Labelled ones, which show that the suites are right."""
    mutation: Path
    """Holds equivalent.toml: why mutants of references that no test finds are as right."""
    feedback: Feedback
    """How much students are told of tests, where a part does not say."""
    hidden_feedback: Feedback

    @classmethod
    def read(cls, root: Path) -> "Course":
        """Read the course in a folder.

        Raises UsageError for a folder that holds none, GraderError with each mistake of its file,
        and where it asks for another version of the engine.
        """
        file = root / FILE
        if not file.is_file():
            raise UsageError(
                f"{root} is not a course: expected a folder with {FILE}, but "
                f"{'it has no such file' if root.is_dir() else 'the path is not a folder'}; "
                "name another folder"
            )
        data = strict_toml.read(file, CourseTable, _engine_problems)
        return cls(
            name=data.name,
            title=data.title,
            root=root,
            suites=root / "tests/suites",
            references=root / "reference",
            templates=root / "student_template",
            submissions=root / "tests/submissions",
            mutation=root / "tests/mutation",
            feedback=data.feedback,
            hidden_feedback=data.hidden_feedback,
        )

    @classmethod
    def around(cls, path: Path) -> "Course":
        """Read the nearest course that a path lies in. Raises UsageError where there is none."""
        for folder in path.resolve().parents:
            if (folder / FILE).is_file():
                return cls.read(folder)
        raise UsageError(f"{path} is not in a course: no folder above it has a {FILE}")

    def names(self) -> list[str]:
        """Return the assignments there are."""
        return sorted(file.parent.name for file in self.suites.glob("*/assignment.toml"))

    def load(self, name: str) -> Assignment:
        """Read one assignment. Raises UsageError for none of that name, GraderError."""
        if name not in self.names():
            none = f"none, because {self.suites} has no */assignment.toml"
            known = ", ".join(self.names()) or none
            meant = did_you_mean(name, self.names())
            raise UsageError(f"unknown assignment {name!r}; known assignments: {known}{meant}")
        return assignment.read(
            self.suites / name,
            reference=self.references / name,
            template=self.templates / name,
            course=self.name,
            feedback=self.feedback,
            hidden_feedback=self.hidden_feedback,
        )

    def assignments(self) -> list[Assignment]:
        """Read all of them. Raises GraderError when a file is not right."""
        return [self.load(name) for name in self.names()]

    def readable(self) -> list[Assignment]:
        """Read those whose files are right."""
        found = []
        for name in self.names():
            with suppress(GraderError):
                found.append(self.load(name))
        return found

    def folders(self) -> tuple[Path, ...]:
        """Return the course's own folders, of which no submission may read any."""
        return (self.root, self.suites, self.references, self.submissions, self.mutation)

    def digest(self) -> str:
        """Return the SHA-256 over everything of the course that decides a mark.

        The same in a checkout and in the course's image; where hidden tests are missing, another.
        """
        return digest_of((*self._suite_files(), *self._support_files()))

    def _suite_files(self) -> Iterator[tuple[str, Path]]:
        yield FILE, self.root / FILE
        for name, file in source_files(self.suites):
            yield f"suites/{name}", file

    def _support_files(self) -> Iterator[tuple[str, Path]]:
        """Yield the files that each assignment gives to the ranks, wherever they are installed."""
        for found in self.readable():
            with suppress(GraderError):  # which says so to whoever wants to be graded by it
                for file, path in found.support_paths().items():
                    yield f"support/{found.name}/{file}", path


def is_hidden(path: Path) -> bool:
    """Return whether a file, by its path in the suites, is one that no student gets."""
    return any(name.startswith(("hidden", "test_hidden")) for name in path.parts)


def digest_of(files: Iterable[tuple[str, Path]]) -> str:
    """Return the SHA-256 over files, each under its name, in the order of the names."""
    digest = hashlib.sha256()
    for name, file in sorted(files):
        content = file.read_bytes()
        digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _engine_problems(data: Table) -> Iterator[str]:
    """Yield why this engine is not in the range that a course asks for."""
    wanted = data.get("engine")
    if wanted is None:
        return
    try:
        is_fit = __version__ in SpecifierSet(wanted)
    except InvalidSpecifier:
        yield f"engine: found {found_text(wanted)}; expected a range such as '>=0.2,<0.3'"
        return
    if not is_fit:
        yield f"engine: found {found_text(wanted)}, but this engine is {__version__}"
