"""The file that people fill in: it is never written over with what they have put there."""

import csv
import io
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from grader.addons.classroom.csv_tables import delimiter_of, inert_comment
from grader.addons.classroom.gradings import write_atomically


def replace_unread(file: Path, text: str) -> Path | None:
    """Write the file anew; return where the one of before is, where it says what this does not.

    That is so where somebody has filled it in, and class.toml does not name it. Raises OSError.
    """
    kept = None
    if file.exists() and set(_filled(_text_of(file))) - set(_filled(text)):
        names = (file.with_name(f"{file.stem}-{number}{file.suffix}") for number in count(1))
        kept = next(name for name in names if not name.exists())
        file.rename(kept)
    write_atomically(file, text)
    return kept


def _text_of(file: Path) -> str:
    return file.read_bytes().decode("utf-8-sig", errors="replace")


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
