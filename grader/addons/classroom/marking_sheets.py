"""What a person needs to mark one submission, in one folder: questions, PDF, code, report."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from grader.addons.classroom.class_folder import write_atomically
from grader.addons.classroom.marking import BY_CLASS_FILE, COLUMNS, Mark, Row, short_digest
from grader.addons.classroom.tables import csv_text, delimiter_of, inert, inert_comment
from grader.model.points import written
from grader.model.report import Report
from grader.report.export import formats
from grader.report.html.templates import page
from grader.report.safe_text import one_line, visible_lines

SHEET = "sheet.html"
REPORT = "report.html"
TO_FILL = "to-mark.csv"
_SHOWN = (".py", ".ipynb", ".sh", ".txt", ".md")
_MAX_NUM_CHARS = 100_000


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
    documents[REPORT] = "everything that the checks found, with pictures"
    # Who marks need not know whose it is.
    nameless = replace(report, submission=student, course_folder="")
    write_atomically(folder / REPORT, formats.named("html").render(nameless, is_full=True))
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
    shown = [(name, _lines(files[name])) for name in sorted(files) if name.endswith(_SHOWN)]
    return page(
        "addons/classroom/marking_sheet.html",
        f"{one_line(report.assignment)}: {student}",
        mark=mark,
        parts=report.parts,
        documents=documents,
        files=shown,
    )


def to_fill(lines: Sequence[tuple[str, str, Sequence[Row]]]) -> str:
    """Return a CSV with a line for each question and student, to be filled in and read again.

    lines: of each pseudonym, with the digest of the hand-in.
    """
    table: list[Sequence[str]] = [COLUMNS]
    for student, digest, rows in lines:
        for row in rows:
            # What class.toml decides stays for a person to decide otherwise.
            given = row.given if row.given and row.given.by != BY_CLASS_FILE else None
            points, comment, by = "", "", ""
            if given is not None:
                points, comment = written(given.points), inert_comment(given.comment)
                by = inert_comment(given.by)
            most = written(row.max_points) if row.max_points else ""
            title = f"{row.title} ({row.found})" if row.is_missing else row.title
            cells = (student, row.name, points, most, inert(title), comment, by)
            table.append((*cells, short_digest(digest)))
    return csv_text(table)


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


def replace_unread(file: Path, text: str) -> Path | None:
    """Write the file that people fill in anew; what they have put there is never written over.

    Return where the one of before is, where it says what this does not: somebody has filled it in,
    and class.toml does not name it. Raises OSError.
    """
    kept = None
    if file.exists() and set(
        _filled(file.read_bytes().decode("utf-8-sig", errors="replace"))
    ) - set(_filled(text)):
        names = (file.with_name(f"{file.stem}-{number}{file.suffix}") for number in count(1))
        kept = next(name for name in names if not name.exists())
        file.rename(kept)
    write_atomically(file, text)
    return kept


def _filled(text: str) -> Iterator[tuple[str, ...]]:
    """Yield student, line, points and comment of each line with one of these."""
    for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter_of(text)):
        cells = [(row.get(name) or "").strip() for name in ("id", "row", "points", "comment")]
        if cells[2] or cells[3]:
            # As it is written again: a comment may have had lines, or begun as a formula does.
            comment = inert_comment(cells[3].removeprefix("'"))
            yield (cells[0], cells[1], _number(cells[2]), comment)


def _number(points: str) -> str:
    try:
        return str(float(points.replace(",", ".")))
    except ValueError:
        return points
