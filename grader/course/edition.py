"""What a course hands out: its files for those who grade, and without solutions for students."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from grader.course.assignment import Assignment
from grader.course.course import FILE, Course, is_hidden
from grader.course.cross_references import FOR_STUDENTS
from grader.model.errors import GraderError

Files = Mapping[PurePosixPath, Path]
"""The files of an edition, by their paths in it."""


def edition(course: Course, *, is_for_students: bool) -> dict[PurePosixPath, Path]:
    """Return the files of an edition of a course, by their paths in it.

    That for students has no references and nothing hidden. Where `students` in an assignment.toml
    lists files, it has no others of that assignment. Raises GraderError for a listed file that is
    hidden.
    """
    folders = [course.suites, course.templates]
    folders += [] if is_for_students else [course.references]
    found = {PurePosixPath(FILE): course.root / FILE}
    for folder in folders:
        for path in files_in(folder):
            relative = path.relative_to(course.root)
            is_suite = folder == course.suites  # a network of a template may have hidden layers
            if not (is_for_students and is_suite and is_hidden(path.relative_to(folder))):
                found[PurePosixPath(relative.as_posix())] = path
    listing = [each for each in course.assignments() if is_for_students and each.students]
    for assignment in listing:
        if is_hidden(assignment.folder.relative_to(course.suites)):
            continue
        root = PurePosixPath(assignment.folder.relative_to(course.root).as_posix())
        found = {file: path for file, path in found.items() if not file.is_relative_to(root)}
        found |= {root / name: path for name, path in given(assignment).items()}
    return found


def given(assignment: Assignment) -> dict[str, Path]:
    """Return the files that students get of an assignment. Raises GraderError for a hidden one."""
    folder, listed = assignment.folder, assignment.students
    if not listed:
        paths = {path.relative_to(folder): path for path in files_in(folder)}
        return {name.as_posix(): path for name, path in paths.items() if not is_hidden(name)}
    for name in listed:
        if is_hidden(Path(name)):
            raise GraderError(f"{assignment.name}: `students` lists {name}, which is hidden")
    named = {each: folder / each for each in ("assignment.toml", *listed)}
    in_place = {each: folder / FOR_STUDENTS / each for each in named}
    return named | {name: path for name, path in in_place.items() if path.is_file()}


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, but those that Python has made."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path
