"""What a course hands out: parts, files, points, read from `assignment.toml`."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from grader.course import assignment_file, support
from grader.course.assignment_file import Manual, Part
from grader.model.errors import GraderError
from grader.model.report import Feedback
from grader.model.spelling import did_you_mean

SHARED_SUPPORT = Path(support.__file__).parent
"""Support files that many assignments share come with the engine."""


@dataclass(frozen=True)
class Assignment:
    """One assignment and the folder of its suites."""

    name: str
    title: str
    folder: Path
    support: tuple[str, ...]
    parts: tuple[Part, ...]
    manual: tuple[Manual, ...]
    students: tuple[str, ...] = ()
    """The files of its folder that students get, beside assignment.toml; none named: all."""
    needs: tuple[str, ...] = ()
    """Modules that its ranks import, beside numpy and mpi4py."""
    source: str = ""
    """The exercise it was made from, in words."""
    reference: Path = Path()
    """The folder of its solution; need not be there."""
    template: Path = Path()
    """The folder of what students start from."""
    course: str = ""
    """The name of the course it belongs to."""

    @property
    def is_for_students(self) -> bool:
        """Return whether this is the edition that students have, which holds no solution."""
        return not self.reference.is_dir()

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

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return all names under which something may be handed in, for tests and for people."""
        names = [name for accepted in self.accepted_names.values() for name in accepted]
        for manual in self.manual:
            names += [manual.file, *manual.other_names]
        return tuple(dict.fromkeys(names))

    @property
    def part_names(self) -> tuple[str, ...]:
        """Return the names of all parts: of those for tests, then of those for people."""
        return (*(each.name for each in self.parts), *(each.name for each in self.manual))

    def wrong_part(self, names: Collection[str]) -> str:
        """Return what is wrong with a name that is of none of its parts; empty if all are."""
        unknown = next((name for name in names if name not in self.part_names), None)
        if unknown is None:
            return ""
        return (
            f"{self.name} has no part {unknown!r:.60}; its parts are "
            f"{', '.join(self.part_names)}{did_you_mean(unknown, self.part_names)}"
        )

    def parts_with(self, files: Collection[str]) -> tuple[Part, ...]:
        """Return the parts that one of the files may be handed in for."""
        names = self.accepted_names
        return tuple(
            part
            for part in self.parts
            if any(name in files for file in part.files for name in names[file])
        )

    def support_paths(self) -> dict[str, Path]:
        """Return where each support file lies. Raises GraderError for one that is missing."""
        found = {}
        for file in self.support:
            folders = (self.template, self.reference, SHARED_SUPPORT)
            path = next((folder / file for folder in folders if (folder / file).is_file()), None)
            if path is None:
                raise GraderError(f"the support file {file} of {self.name} is not installed")
            found[file] = path
        return found

    def probe_sources(self) -> dict[str, str]:
        """Return the text of the rank-side code by module, `__init__` first: probes.py or probes/.

        Raises GraderError where there is neither, or both.
        """
        file, folder = self.folder / "probes.py", self.folder / "probes"
        first = folder / "__init__.py"
        if file.is_file() == first.is_file():
            found = "both" if file.is_file() else "neither"
            raise GraderError(
                f"{self.name} must have either probes.py, or probes/__init__.py "
                f"with its modules; found {found} in {self.folder}"
            )
        paths = [file] if file.is_file() else [first, *sorted({*folder.glob("*.py")} - {first})]
        return {"__init__" if path == file else path.stem: path.read_text() for path in paths}

    def shared_support(self) -> dict[str, Path]:
        """Return the support files that are not the reference's, with where they lie.

        They come with the engine, or lie in the template alone. Raises GraderError when one is not
        installed.
        """
        installed = self.support_paths()
        return {
            file: SHARED_SUPPORT / file if (SHARED_SUPPORT / file).is_file() else installed[file]
            for file in self.support
            if not (self.reference / file).is_file()
        }


def read(
    folder: Path,
    *,
    reference: Path,
    template: Path,
    course: str,
    feedback: Feedback,
    hidden_feedback: Feedback,
) -> Assignment:
    """Read the assignment whose suites lie in a folder.

    feedback, hidden_feedback: how much is told of the tests of parts that do not say. Raises
    GraderError with each mistake of its file.
    """
    data = assignment_file.read(folder / "assignment.toml", folder.name)
    parts = (
        structs.replace(
            part,
            feedback=part.feedback or feedback,
            hidden_feedback=part.hidden_feedback or hidden_feedback,
        )
        for part in data.parts
    )
    return Assignment(
        name=folder.name,
        title=data.title,
        folder=folder,
        support=data.support,
        parts=tuple(parts),
        manual=data.manual,
        students=data.students,
        needs=data.needs,
        source=data.source or "",
        reference=reference,
        template=template,
        course=course,
    )
