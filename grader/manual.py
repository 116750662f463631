"""What a person will mark: the grader only says what was handed in for it."""

from grader.assignment import Assignment
from grader.errors import UsageError
from grader.intake import process as intake
from grader.journal import Journal
from grader.model import ManualPart
from grader.submission import Submission


def manual_parts(
    assignment: Assignment,
    submission: Submission,
    uid: int | None = None,
    journal: Journal | None = None,
) -> tuple[ManualPart, ...]:
    """Return the manual parts of an assignment, each with what the submission holds for it.

    uid: who looks into the files; None for who we are. journal: is told before each file, which may
    take a while.
    """
    found = {}
    for file in dict.fromkeys(manual.file for manual in assignment.manual):
        if journal is not None:
            journal.beat("counting pages")
        found[file] = _describe(file, submission.files.get(file), uid)
    return tuple(
        ManualPart(manual.name, manual.title, manual.points, found[manual.file])
        for manual in assignment.manual
    )


def _describe(file: str, content: bytes | None, uid: int | None) -> str:
    """Return `report.pdf, 3 pages`, or what is wrong with it."""
    if content is None:
        return f"{file} was not handed in"
    try:
        pages = intake.count_pages(content, file, uid)
    except UsageError:
        return f"{file} cannot be read as a PDF"
    return f"{file}, {pages} page{'' if pages == 1 else 's'}"
