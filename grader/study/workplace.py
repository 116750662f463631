"""The folder that a point is measured in: the submission, support files, and the program."""

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from grader.course.assignment import SHARED_SUPPORT, Assignment
from grader.intake.placement.table import place
from grader.intake.submission import Submission
from grader.model.errors import UsageError

SHARED_PROGRAM = "study_point.py"
NOT_HANDED_IN = "not handed in"
"""How the reason ends why a file is not there."""
_PREFIX = "grader-study-"
_LOCK = "lock"
_BASE = Path("/dev/shm")  # noqa: S108 - a fresh folder with a random name in it


@dataclass(frozen=True)
class Sources:
    """The files that a study runs."""

    files: Mapping[str, bytes]
    """By their path in the folder: what was handed in, and the grader's support files."""
    handed_in: frozenset[str]
    """Those of the files that are a student's."""
    programs: Mapping[str, bytes]
    """Those that measure, by name."""

    def missing(self, needs: tuple[str, ...]) -> str:
        """Return why a point cannot be measured for want of a file; empty where it can."""
        absent = [file for file in needs if file not in self.files]
        verb = "were" if len(absent) > 1 else "was"
        return f"{' and '.join(absent)} {verb} {NOT_HANDED_IN}" if absent else ""


def sources(assignment: Assignment, submission: Submission | None) -> Sources:
    """Return what to run: a submission, or where there is none the reference.

    Raises UsageError where the reference is not installed, GraderError without a support file.
    """
    support = {name: path.read_bytes() for name, path in assignment.support_paths().items()}
    if submission is None:
        if assignment.is_for_students:
            raise UsageError(
                f"the reference of {assignment.name} is not installed here; name your own files "
                "with --submission DIR"
            )
        paths = {name: assignment.reference / name for name in assignment.handed_in}
        student = {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
    else:
        student = place(submission, assignment).sources
    programs = {
        path.name: path.read_bytes()
        for path in sorted((assignment.folder / "study" / "programs").glob("*.py"))
    }
    programs[SHARED_PROGRAM] = (SHARED_SUPPORT / SHARED_PROGRAM).read_bytes()
    return Sources({**student, **support}, frozenset(student), programs)


@contextmanager
def workplace(found: Sources) -> Iterator[Path]:
    """Write all files into a fresh folder, and remove it again.

    In it, `work` holds the files and the programs, `reports` and `scratch` are empty. What studies
    have left that were killed is removed as well.
    """
    base = _BASE if _BASE.is_dir() else Path(tempfile.gettempdir())
    _remove_abandoned(base)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    try:
        held = _held(folder)
        for name in ("reports", "scratch", "work/figures"):
            (folder / name).mkdir(parents=True)
        for name, content in {**found.files, **found.programs}.items():
            path = folder / "work" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        with held:
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _held(folder: Path) -> IO[bytes]:
    """Return a locked file in a folder: nobody can lock it while this process is there."""
    unheld = folder / f"{_LOCK}.unheld"
    file = unheld.open("wb")
    fcntl.flock(file, fcntl.LOCK_EX)
    unheld.rename(folder / _LOCK)  # under its name it has never been free
    return file


def _remove_abandoned(base: Path) -> None:
    for lock in base.glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError), lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
