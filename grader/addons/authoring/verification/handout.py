"""Compares the points in the tables of a handout with those of assignment.toml.

Two kinds of table are read: parts by their names, with a column `part` and one `points`; and the
prices of a part, a column `points`, or several columns of numbers in front of `what is asked`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from grader.addons.authoring.verification.problem import Problem
from grader.course.assignment import Assignment, Part
from grader.course.course import Course
from grader.grading_plugin.session import prices
from grader.model.errors import GraderError
from grader.model.points import total, written
from grader.model.spelling import did_you_mean

FILE = "HANDOUT.md"
_HEADING = re.compile(r"(#+) (.*)")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_SHARE = re.compile(r"\((\d+(?:\.\d+)?)\)")
"""What a row says of a piece of its points: `several steps (0.75); one process (1.25)`."""
_ASKED = "what is asked"
_SUMS = ("in all", "sum", "total")
"""What the row of a sum is called, which is no price."""
_CHANGE = "change one of them"


@dataclass(frozen=True)
class _Table:
    line: int
    """Of its header."""
    parts: tuple[Part, ...]
    """Those that the heading above names."""
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def numbers(self, column: int) -> list[float]:
        """Return the numbers of a column; other cells are no prices."""
        cells = (row[column] for row in self.rows if column < len(row))
        return [float(cell) for cell in cells if _NUMBER.fullmatch(cell)]

    def prices(self, column: int) -> list[float]:
        """Return the numbers of a column, in pieces where a row says how its points are shared."""
        found = []
        for row in self.rows:
            if column < len(row) and _NUMBER.fullmatch(row[column]):
                shares = [float(share) for cell in row for share in _SHARE.findall(cell)]
                whole = float(row[column])
                found += shares if total(shares) == whole else [whole]
        return found


def check_handout(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that the tables of the handout name the points of assignment.toml."""
    folders = (assignment.reference, assignment.template)
    file = next((folder / FILE for folder in folders if (folder / FILE).is_file()), None)
    for table in _tables(file.read_text(), assignment) if file is not None else ():
        find = _wrong_parts if {"part", "points"} <= set(table.header) else _wrong_sums
        for sentence in find(table, assignment):
            yield Problem(f"{FILE}:{table.line}", sentence)


def _wrong_parts(table: _Table, assignment: Assignment) -> Iterator[str]:
    """Yield what is wrong in a table of parts; its other rows are what a person marks."""
    name, points = table.header.index("part"), table.header.index("points")
    rows = {row[name]: row[points] for row in table.rows if len(row) > max(name, points)}
    for part in assignment.parts:
        found = rows.pop(part.name, None)
        if found is None:
            meant = did_you_mean(part.name, rows)
            yield f"no row names the part {part.name}; {meant}add one, of {_points(part.points)}"
        elif not _NUMBER.fullmatch(found) or float(found) != part.points:
            yield (
                f"{part.name} has {found or 'no'} points here, but {written(part.points)} in "
                f"assignment.toml; {_CHANGE}"
            )
    others = total(float(found) for found in rows.values() if _NUMBER.fullmatch(found))
    by_a_person = total(manual.points for manual in assignment.manual)
    if others != by_a_person:
        yield (
            f"{', '.join(rows) or 'no row beside those of parts'}: {_points(others)} here, but "
            f"assignment.toml has {_points(by_a_person)} graded by hand; {_CHANGE}"
        )


def _wrong_sums(table: _Table, assignment: Assignment) -> Iterator[str]:
    """Yield of each column of prices that its sum is that of no part which it may be of."""
    columns = _columns_of_prices(table.header)
    parts = table.parts or assignment.parts
    for number, column in enumerate(columns):
        paid = total(table.numbers(column))
        # Several columns under a heading that names as many parts are theirs, in that order.
        meant = (parts[number],) if len(columns) == len(parts) else parts
        if paid not in [part.points for part in meant]:
            named = " or ".join(f"{part.name} with {written(part.points)}" for part in meant)
            yield (
                f"the column {table.header[column]} adds up to {written(paid)}, but "
                f"assignment.toml has {named}; {_CHANGE}"
            )
        elif len(meant) == 1:
            yield from _wrong_rows(table.prices(column), meant[0], assignment)


def _wrong_rows(rows: Sequence[float], part: Part, assignment: Assignment) -> Iterator[str]:
    """Yield what is wrong where the rows are no sums of what the tests pay, each test once."""
    try:
        paid = [each.points for each in prices(assignment.folder / part.suite) if each.points]
    except GraderError:  # which is told of the suite
        return
    if not are_sums(rows, paid):
        here, there = Counter(rows), Counter(paid)
        yield (
            f"the rows of {part.name} have {_numbers(here - there)}, but its checks pay "
            f"{_numbers(there - here)} instead; {_CHANGE}"
        )


def are_sums(rows: Sequence[float], paid: Sequence[float]) -> bool:
    """Return whether each row can be a sum of some numbers, where each number is in one row."""

    @cache
    def fit(left: tuple[float, ...], at: int) -> bool:
        if at == len(wanted):
            return not left
        return any(fit(rest, at + 1) for rest in _rests(left, wanted[at]))

    wanted = sorted((each for each in rows if each), reverse=True)
    return fit(tuple(sorted(paid, reverse=True)), 0)


def _rests(numbers: tuple[float, ...], wanted: float) -> Iterator[tuple[float, ...]]:
    """Yield what is left of numbers, the greatest first, without some whose sum is the one wanted.

    Equal numbers are taken in their order, so that no rest comes twice.
    """
    if wanted == 0:
        yield numbers
        return
    for at, number in enumerate(numbers):
        if number <= wanted and (at == 0 or number != numbers[at - 1]):
            for rest in _rests(numbers[at + 1 :], total((wanted, -number))):
                yield (*numbers[:at], *rest)


def _numbers(counted: Counter[float]) -> str:
    return ", ".join(map(written, sorted(counted.elements(), reverse=True))) or "nothing"


def _columns_of_prices(header: Sequence[str]) -> list[int]:
    if "points" in header:
        return [header.index("points")]
    asked = (index for index, cell in enumerate(header) if cell.startswith(_ASKED))
    return list(range(next(asked, 0)))


def _tables(text: str, assignment: Assignment) -> Iterator[_Table]:
    """Yield the tables of a handout, with the parts that the headings above them name."""
    named: tuple[Part, ...] = ()
    level, is_code = 0, False
    begin, rows = 0, list[tuple[str, ...]]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_code ^= line.startswith("```")
        if line.startswith("|") and not is_code:
            begin = begin if rows else number
            rows.append(_cells(line))
        elif rows:
            header, *others = rows
            others = [row for row in others if not _is_ruler(row) and not _is_sum(row, assignment)]
            yield _Table(begin, named, tuple(map(str.casefold, header)), tuple(others))
            rows = []
        if (heading := _HEADING.match(line)) and not is_code:
            words = re.findall(r"\w+", heading[2])
            found = tuple(part for part in assignment.parts if part.name in words)
            if found or len(heading[1]) <= level:
                named, level = found, len(heading[1])


def _cells(line: str) -> tuple[str, ...]:
    """Return the texts of a row, without what marks them as code or as bold."""
    inside = re.sub(r"^\||\|$", "", line.strip())
    return tuple(cell.strip(" `*") for cell in re.split(r"(?<!\\)\|", inside))


def _is_ruler(row: Sequence[str]) -> bool:
    return all(re.fullmatch(":?-+:?", cell) for cell in row)


def _is_sum(row: Sequence[str], assignment: Assignment) -> bool:
    names = {part.name for part in assignment.parts}
    return any(cell.casefold() in _SUMS and cell not in names for cell in row)


def _points(number: float) -> str:
    return f"{written(number)} point{'' if number == 1 else 's'}"
