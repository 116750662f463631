"""What a person will mark: the grader only says what was handed in for it."""

import subprocess
import sys

from grader.assignment import Assignment
from grader.model import ManualPart
from grader.submission import Submission

_COUNT_PAGES = (
    "import io, sys, pypdf; print(len(pypdf.PdfReader(io.BytesIO(sys.stdin.buffer.read())).pages))"
)
_READ_LIMIT_S = 20


def manual_parts(assignment: Assignment, submission: Submission) -> tuple[ManualPart, ...]:
    """Return the manual parts of an assignment, each with what the submission holds for it."""
    found = {
        file: _describe(file, submission.files.get(file))
        for file in {manual.file for manual in assignment.manual}
    }
    return tuple(
        ManualPart(manual.name, manual.title, manual.points, found[manual.file])
        for manual in assignment.manual
    )


def _describe(file: str, content: bytes | None) -> str:
    """Return `report.pdf, 3 pages`, or what is wrong with it."""
    if content is None:
        return f"{file} was not handed in"
    try:
        # In a process of its own: a student's PDF may be made to keep its reader busy for ever.
        counted = subprocess.run(  # noqa: S603 - our own command line
            [sys.executable, "-I", "-c", _COUNT_PAGES],
            input=content,
            capture_output=True,
            timeout=_READ_LIMIT_S,
            check=True,
        )
        pages = int(counted.stdout)
    except (subprocess.SubprocessError, ValueError):
        return f"{file} cannot be read as a PDF"
    return f"{file}, {pages} page{'' if pages == 1 else 's'}"
