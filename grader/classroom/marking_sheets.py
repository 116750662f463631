"""What a person needs to mark one submission, in one folder: questions, PDF, code, report."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.classroom.gradebook import inert
from grader.classroom.gradings import write_atomically
from grader.classroom.manual_marks import COLUMNS, short_digest
from grader.classroom.marking import Mark, Row
from grader.model import Report
from grader.points import written
from grader.report.export import formats
from grader.report.html.markup import Child, Markup, element, joined, table
from grader.report.html.whole import whole
from grader.report.safe_text import one_line, visible_lines

SHEET = "sheet.html"
REPORT = "report.html"
TO_FILL = "to-mark.csv"
_MAX_NUM_CHARS = 100_000
_SPACE = Markup("&nbsp;")


def write(
    folder: Path, student: str, report: Report, mark: Mark, files: Mapping[str, bytes]
) -> None:
    """Write a folder: the sheet, the report, the PDFs that were handed in. Raises OSError.

    student: the pseudonym. files: what was handed in, by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in sorted(files) if name.lower().endswith(".pdf")]
    documents = {_file_name(number, name): name for number, name in enumerate(names, 1)}
    for before in folder.glob("[0-9]*-*.pdf"):  # of a hand-in that does not count any more
        before.unlink()
    for file, name in documents.items():
        write_atomically(folder / file, files[name])
    documents[REPORT] = "all that tests found, with pictures"
    # Who marks need not know whose it is.
    nameless = replace(report, submission=student, course_folder="")
    page = formats.named("html").render(nameless, is_full=True)
    write_atomically(folder / REPORT, page)
    write_atomically(folder / SHEET, render(student, report, mark, documents, files))


def render(
    student: str,
    report: Report,
    mark: Mark,
    documents: Mapping[str, str],
    files: Mapping[str, bytes],
) -> str:
    """Return the sheet, to be read, printed and filled in by hand.

    documents: what files beside the sheet are, by their names there. files: all that was handed in.
    """
    title = f"{one_line(report.assignment)}: {student}"
    head = element(
        "header",
        element("h1", title),
        element(
            "p", f"Tests gave {_tests(mark)} points; what follows is a person's.", class_="score"
        ),
        *(element("p", element("a", name, href=file)) for file, name in documents.items()),
    )
    return whole(
        title,
        head,
        element(
            "main",
            element("section", _rows(mark.rows)),
            element("section", _parts(report)),
            *_code(files),
        ),
    )


def to_fill(marks: Sequence[tuple[str, str, Mark]]) -> str:
    """Return a CSV with a line for each question and student, to be filled in and read again.

    marks: pseudonym, digest of the hand-in, and mark.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for student, digest, mark in marks:
        for row in mark.rows:
            points = "" if row.given is None else written(row.given.points)
            comment = "" if row.given is None else inert(row.given.comment)
            cells = [student, row.name, points, written(row.max_points), inert(row.title)]
            writer.writerow([*cells, comment, short_digest(digest)])
    return text.getvalue()


def _tests(mark: Mark) -> str:
    points = "no" if mark.automatic is None else written(mark.automatic)
    return f"{points} of {written(mark.automatic_max)}"


def _rows(rows: Sequence[Row]) -> Markup:
    cells: list[tuple[Child, ...]] = [
        (
            one_line(row.name),
            one_line(row.title),
            one_line(row.found),
            joined(
                _blank("points") if row.given is None else written(row.given.points),
                *(_SPACE, "of", _SPACE, written(row.max_points)),
            ),
            _blank("comment", "long") if row.given is None else one_line(row.given.comment),
        )
        for row in rows
    ]
    return table("To be marked", ("row", "question", "found", "points", "comment"), cells)


def _blank(what: str, length: str = "") -> Markup:
    """Return a line to write on; who cannot see it is told what belongs there."""
    return element(
        "span", _SPACE, class_=f"blank {length}".strip(), role="img", aria_label=f"blank: {what}"
    )


def _parts(report: Report) -> Markup:
    cells: list[tuple[Child, ...]] = [
        (
            one_line(part.name),
            part.verdict.value,
            f"{written(part.points)} of {written(part.max_points)}",
        )
        for part in report.parts
    ]
    return table("What the tests found", ("part", "verdict", "points"), cells)


def _code(files: Mapping[str, bytes]) -> list[Markup]:
    return [
        element(
            "section",
            element("h2", one_line(name)),
            element("pre", *(element("code", line) for line in _lines(content))),
        )
        for name, content in sorted(files.items())
        if name.endswith((".py", ".ipynb", ".sh", ".txt", ".md"))
    ]


def _lines(content: bytes) -> list[str]:
    text = content.decode(errors="replace")
    lines = visible_lines(text[:_MAX_NUM_CHARS])
    if len(text) > _MAX_NUM_CHARS:
        lines.append(f"... ({len(text) - _MAX_NUM_CHARS} more characters)")
    return lines


def _file_name(number: int, name: str) -> str:
    """Return a name for a file that was handed in, in a folder of ours and in a link."""
    kept = "".join(
        char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in name
    )
    return f"{number}-{kept[:-4][-80:]}.pdf"
