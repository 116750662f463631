"""The sheets that markers read, and the table of points that they fill in."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from grader.addons.classroom.class_folder import write_atomically
from grader.addons.classroom.marking import BY_CLASS_FILE, COLUMNS, DIGEST_PREFIX, Mark, Row
from grader.addons.classroom.tables import csv_text, delimiter_of, inert, inert_comment
from grader.model.points import written
from grader.model.report import Report
from grader.report.export import formats
from grader.report.html.page import page
from grader.report.safe_text import one_line, visible_lines

_DIGEST_NUM_CHARS = 12
SHEET = "sheet.html"
REPORT = "report.html"
TO_FILL = "to-mark.csv"
_SHOWN = (".py", ".ipynb", ".sh", ".txt", ".md")
_MAX_NUM_CHARS = 100_000


def write_sheet(
    folder: Path, student: str, report: Report, mark: Mark, files: Mapping[str, bytes]
) -> None:
    """Write a folder: the sheet, the report, the PDFs that were handed in. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in sorted(files) if name.lower().endswith(".pdf")]
    documents = {_file_name(number, name): name for number, name in enumerate(names, 1)}
    for before in folder.glob("[0-9]*-*.pdf"):  # of a hand-in that does not count any more
        before.unlink()
    for file, name in documents.items():
        write_atomically(folder / file, files[name])
    documents[REPORT] = "the full report of the checks, with pictures"
    # Markers need not know the author.
    nameless = replace(report, submission=student, is_for_owner=True)
    write_atomically(folder / REPORT, formats.named("html").render(nameless, is_full=True))
    write_atomically(folder / SHEET, render_sheet(student, report, mark, documents, files))


def render_sheet(
    student: str,
    report: Report,
    mark: Mark,
    documents: Mapping[str, str],
    files: Mapping[str, bytes],
) -> str:
    """Return the sheet, to be read, printed and filled in by hand: what was graded comes first."""
    graded = {each.path for each in report.files if each.is_graded}
    names = sorted(files, key=lambda name: (name not in graded, name))
    shown = [(name, _shown_lines(files[name])) for name in names if name.endswith(_SHOWN)]
    return page(
        "addons/classroom/marking_sheet.html",
        f"{one_line(report.assignment)}: {student}",
        mark=mark,
        parts=report.parts,
        documents=documents,
        files=shown,
    )


def to_fill(lines: Sequence[tuple[str, str, Sequence[Row]]]) -> str:
    """Return the CSV to fill in: by pseudonym and digest, with a line for each row."""
    table: list[Sequence[str]] = [COLUMNS]
    for student, digest, rows in lines:
        for row in rows:
            # A zero from class.toml is left out, so that a marker can still give points.
            given = row.given if row.given and row.given.by != BY_CLASS_FILE else None
            points, comment, by = "", "", ""
            if given is not None:
                points, comment = written(given.points), inert_comment(given.comment)
                by = inert_comment(given.by)
            most = written(row.max_points) if row.max_points else ""
            title = f"{row.title} ({row.found})" if row.is_missing else row.title
            cells = (student, row.name, points, most, inert(title), comment, by)
            table.append((*cells, f"{DIGEST_PREFIX}{digest[:_DIGEST_NUM_CHARS]}"))
    return csv_text(table)


def _shown_lines(content: bytes) -> list[str]:
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
    """Write the file to fill in again, and never lose what was filled in before.

    If the old file has entries that the new one has not, it is kept under another name, which is
    returned: class.toml does not name it. Raises OSError.
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
