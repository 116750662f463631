"""What a person will mark: the grader only says what was handed in for it."""

from collections.abc import Sequence

from grader.course.assignment_file import Manual
from grader.intake import process as intake
from grader.intake.placement.table import Placement, absence_text
from grader.model.errors import UsageError
from grader.model.plural import counted
from grader.model.report import ManualPart
from grader.recording.journal import Journal


def manual_parts(
    placement: Placement, asked: Sequence[Manual], uid: int | None, journal: Journal
) -> tuple[ManualPart, ...]:
    """Return these manual parts, each with what was handed in; uid: who looks into the files."""
    num_pages: dict[str, int | None] = {}
    found = []
    for manual in asked:
        file = placement.chosen.get(manual.file)
        if file is not None and file not in num_pages:
            journal.beat("counting pages")
            num_pages[file] = _num_pages(file, placement.submission.files[file], uid)
        text = described(manual, file, num_pages.get(file) if file else None)
        not_read = [row for row in placement.rows if row.file == manual.file and not file]
        if not_read:
            text = f"{not_read[0].path} {not_read[0].why}"
        found.append(ManualPart(manual.name, manual.title, manual.points, text))
    return tuple(found)


def described(manual: Manual, file: str | None, num_pages: int | None) -> str:
    """Return `report.pdf, 3 pages`, or what is wrong with it."""
    if file is None:
        return absence_text((manual.file, *manual.other_names))
    if num_pages is None:
        return f"{file} cannot be read as a PDF"
    pages = f"{file}, {counted(num_pages, 'page')}"
    if manual.max_pages is not None and num_pages > manual.max_pages:
        return f"{pages}; the limit is {manual.max_pages}"
    return pages


def _num_pages(file: str, content: bytes, uid: int | None) -> int | None:
    try:
        return intake.count_pages(content, file, uid)
    except UsageError:
        return None
