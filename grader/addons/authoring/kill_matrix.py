"""Which test finds which mutant: the table that says how much a suite sees."""

import csv
import io
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields

from grader.model.errors import GraderError


@dataclass(frozen=True, order=True)
class Row:
    """One mutant of one reference file, and what became of it."""

    assignment: str
    file: str
    line: int
    """Of the reference, from 1."""
    operator: str
    before: str
    after: str
    occurrence: int
    """From 0: tells apart the same change in several places of one line."""
    verdict: str
    """Of the first test that does not hold; ACCEPTED for one that nobody finds."""
    killed_by: str
    """That test, behind its part: `ring_allreduce: test_any_length`; empty for a survivor."""

    @property
    def key(self) -> str:
        """Return what names the mutant wherever its line has moved to."""
        return f"{self.file}: {self.operator}: {self.before} => {self.after} ({self.occurrence})"


def render(rows: Iterable[Row]) -> str:
    """Return the rows as CSV, in order."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in sorted(rows))
    return text.getvalue()


def parse(text: str) -> list[Row]:
    """Return the rows of a CSV that `render` wrote. Raises GraderError for any other."""
    try:
        return [_row(each) for each in csv.DictReader(io.StringIO(text))]
    except (KeyError, TypeError, ValueError) as error:
        raise GraderError(f"the kill matrix cannot be read: {error}") from None


def _row(cells: dict[str, str]) -> Row:
    numbers = {name: int(cells.pop(name)) for name in ("line", "occurrence")}
    return Row(**cells, **numbers)  # type: ignore[arg-type] # a cell too many is a TypeError


def reasons(text: str) -> Mapping[str, str]:
    """Return why survivors need not be found, by their keys, from a TOML table of reasons.

    Raises GraderError for a text that is no TOML.
    """
    try:
        return {key: str(why) for key, why in tomllib.loads(text).items()}
    except tomllib.TOMLDecodeError as error:
        raise GraderError(f"the reasons of equivalent mutants cannot be read: {error}") from None


def unexplained(rows: Iterable[Row], reasons_by_key: Mapping[str, str]) -> list[Row]:
    """Return the survivors for which nobody has said why they are equivalent."""
    return [row for row in rows if not row.killed_by and not reasons_by_key.get(row.key)]


def summary(rows: Iterable[Row], reasons_by_key: Mapping[str, str]) -> str:
    """Return a Markdown table: by file, how many mutants are found, equivalent, and neither."""
    lines = ["| reference | mutants | killed | equivalent | missed |", "|---|---:|---:|---:|---:|"]
    by_file: dict[str, list[Row]] = {}
    for row in sorted(rows):
        by_file.setdefault(row.file, []).append(row)
    for file, found in by_file.items():
        killed = sum(bool(row.killed_by) for row in found)
        missed = len(unexplained(found, reasons_by_key))
        equivalent = len(found) - killed - missed
        lines.append(f"| `{file}` | {len(found)} | {killed} | {equivalent} | {missed} |")
    return "\n".join(lines) + "\n"
