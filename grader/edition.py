"""What a course hands out: its files for those who grade, and without solutions for students."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from grader.course import FILE, Course, is_hidden
from grader.cross_references import FOR_STUDENTS
from grader.errors import GraderError

Files = Mapping[PurePosixPath, Path]
"""The files of an edition, by their paths in it."""


def edition(course: Course, *, is_for_students: bool) -> dict[PurePosixPath, Path]:
    """Return the files of an edition of a course, by their paths in it.

    That for students has no references, and no suite whose name says that it is hidden; of an
    assignment that says what `students` get, it has that alone. Raises GraderError for a folder of
    the course that does not lie in it.
    """
    folders = [course.suites, course.templates]
    folders += [] if is_for_students else [course.references]
    found = {PurePosixPath(FILE): course.root / FILE}
    for folder in folders:
        for path in _files(folder):
            try:
                relative = path.relative_to(course.root)
            except ValueError:
                raise GraderError(f"{path} does not lie in the course {course.root}") from None
            is_suite = folder == course.suites  # a network of a template may have hidden layers
            if not (is_for_students and is_suite and is_hidden(path.relative_to(folder))):
                found[PurePosixPath(relative.as_posix())] = path
    listing = [each for each in course.assignments() if is_for_students and each.students]
    for assignment in listing:
        root = PurePosixPath(assignment.folder.relative_to(course.root).as_posix())
        listed = {root / name for name in ("assignment.toml", *assignment.students)}
        for file in [each for each in found if each.is_relative_to(root)]:
            in_place = assignment.folder / FOR_STUDENTS / file.relative_to(root)
            if file not in listed:
                del found[file]
            elif in_place.is_file():
                found[file] = in_place
    return found


def write(files: Files, folder: Path) -> None:
    """Copy the files of an edition into a new folder. Raises FileExistsError where there is one."""
    folder.mkdir(parents=True)
    for relative, path in files.items():
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path
