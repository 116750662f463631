"""Checks of an assignment that start no ranks.

They read two kinds of table in a handout: tables of parts, with the columns `part` and `points`,
and tables of prices, with a column `points` or with several columns of numbers before `what is
asked`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.addons.authoring.template import HANDOUT, HEADING, drift
from grader.addons.authoring.verification.labels import FILE, labelled, read_label
from grader.course.assignment import Assignment
from grader.course.assignment_file import Part
from grader.course.course import Course, is_hidden
from grader.course.edition import files_in, given
from grader.grading_plugin.session import Price, prices
from grader.model.errors import GraderError
from grader.model.points import points_text, total, written
from grader.model.spelling import did_you_mean

_RULER = re.compile(":?-+:?").fullmatch
_NUMBER = re.compile(r"\d+(\.\d+)?")
_SHARE = re.compile(r"\((\d+(?:\.\d+)?)\)")
"""How a row splits its points: `several steps (0.75); one process (1.25)`."""
_ASKED = "what is asked"
_SUMS = ("in all", "sum", "total")
"""Names of rows with sums, which are not prices."""
_CHANGE = "change one of them"
_FEWEST_CHARS = 20
"""Shorter lines are alike by chance."""
_TELLING = re.compile(r'def test_|"""\w|[A-Z_0-9]+ = ')


@dataclass(frozen=True)
class Problem:
    """One mistake in an assignment, for its author."""

    subject: str
    """A file, a part, a labelled submission."""
    text: str
    """What was found, what was expected, and what to do."""


def check_suites(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that the suites can be read, grade their parts, and add up to the parts' points."""
    for part in assignment.parts:
        yield from _suite_problems(assignment, part, part.suite, part.points)
        hidden = assignment.folder / part.hidden_suite
        if hidden.is_file():
            yield from _suite_problems(assignment, part, part.hidden_suite, part.hidden_points)
        elif part.hidden_points:
            text = f"hidden_points is {written(part.hidden_points)}, but this file does not exist"
            yield Problem(part.hidden_suite, f"{text}; write it, or leave hidden_points out")


def _suite_problems(
    assignment: Assignment, part: Part, suite: str, points: float
) -> Iterator[Problem]:
    if not (assignment.folder / suite).is_file():
        yield Problem(
            suite, f"the part {part.name} names this file, but it does not exist; write it"
        )
        return
    try:
        found = prices(assignment.folder / suite)
    except GraderError as error:
        yield Problem(suite, str(error))
        return
    for wrong in sorted({price.part for price in found} - {part.name}):
        yield Problem(suite, f"found part({wrong!r}); expected part({part.name!r})")
    known = [price.test for price in found]
    for wrong in sorted({*part.course_only} - {*known}) if suite == part.suite else ():
        meant = did_you_mean(wrong, known)
        yield Problem(
            suite, f"course_only names {wrong}, which is not a test of {part.name}{meant}"
        )
    paid = total(price.points for price in found)
    if paid != points:
        yield Problem(
            suite,
            f"its tests are worth {points_text(paid)}, but assignment.toml says "
            f"{written(points)}; {_largest(found)}",
        )
    for stage in found:
        if stage.at_least is not None and not 0 < stage.at_least < points:
            text = f"{stage.test} is a stage of {points_text(stage.at_least)}; expected more"
            yield Problem(suite, f"{text} than 0 and fewer than the part's {written(points)}")


def _largest(found: tuple[Price, ...]) -> str:
    shown = sorted(found, key=lambda price: -price.points)[:3]
    return "the largest prices: " + ", ".join(
        f"{written(price.points)} {price.test}" for price in shown
    )


def check_files(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that reference, handout and support files are there."""
    if not assignment.reference.is_dir():
        yield Problem(str(assignment.reference), "the reference is missing; write a solution here")
    else:
        for file in assignment.handed_in:
            if not (assignment.reference / file).is_file():
                text = "assignment.toml names this file, but the reference does not have it"
                yield Problem(file, f"{text}; add it to {assignment.reference}")
    if not (assignment.template / HANDOUT).is_file():
        text = "students need a handout; write one in the reference folder"
        yield Problem(str(assignment.template / HANDOUT), f"{text}, and make the template")
    try:
        assignment.support_paths()
    except GraderError as error:
        yield Problem("support", f"{error}; put it into {assignment.reference}")


def check_template(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that the template is what the reference makes today."""
    if not assignment.reference.is_dir():
        return
    try:
        sentences = drift(assignment.reference, assignment.template, assignment.shared_support())
    except GraderError as error:
        yield Problem(str(assignment.reference), str(error))
        return
    for sentence in sentences:
        again = f"grade --course {course.root} template {assignment.name} FOLDER"
        yield Problem("template", f"{sentence}; write the template again: `{again}`")


def check_student_edition(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that the files for students contain no hidden test, and no line that reveals one."""
    folder = assignment.folder
    hidden = [file for file in files_in(folder) if is_hidden(file.relative_to(folder))]
    try:
        public = [*given(assignment).values()]
    except GraderError as error:
        yield Problem("assignment.toml", f"{error}; take it off the list")
        return
    secret_lines = {line: file for file in hidden for line in _telling_lines(file)}
    names = {file.name for file in hidden} | {part.hidden_suite for part in assignment.parts}
    for file in files_in(assignment.template):
        if file.name in names or file.name.startswith("test_hidden"):
            yield Problem(str(file), "students get this hidden test; move it out of this folder")
        public.append(file)
    for file in public:
        for line in sorted(_telling_lines(file) & secret_lines.keys())[:1]:
            text = f"students get this file, but it has a line from {secret_lines[line].name}"
            yield Problem(str(file), f"{text}; remove that line: {line!r}")


def _telling_lines(file: Path) -> set[str]:
    """Return lines that reveal a test: names and docstrings of tests, and their cases."""
    lines = {line.strip() for line in file.read_text(errors="replace").splitlines()}
    return {line for line in lines if len(line) >= _FEWEST_CHARS and _TELLING.match(line)}


def check_labels(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that every labelled submission has a valid label, and at least one is wrong."""
    tests = {part.name: _tests_of(assignment, part) for part in assignment.parts}
    folders = labelled(course.submissions, assignment.name)
    for folder in folders:
        subject = folder.relative_to(course.submissions).as_posix()
        try:
            label = read_label(folder)
        except GraderError as error:
            yield Problem(subject, str(error))
            continue
        if label.part not in tests:
            meant = did_you_mean(label.part, tests)
            yield Problem(
                subject, f"{FILE} names the part {label.part!r}, which does not exist{meant}"
            )
            continue
        known = tests[label.part]
        named = {*(label.subject or ()), *(label.failing_tests or ())}
        for name in sorted(named - known) if known else ():
            meant = did_you_mean(name, known)
            yield Problem(
                subject, f"{FILE} names {name}, which is not a test of {label.part}{meant}"
            )
    for folder in sorted(course.submissions.glob("*/*")):
        if folder.is_dir() and folder.name not in course.names():
            meant = did_you_mean(folder.name, course.names())
            text = f"no assignment has this name, so the folder is never read; rename it{meant}"
            yield Problem(folder.relative_to(course.submissions).as_posix(), text)
    verdicts = {folder.parent.parent.name for folder in folders}
    if not verdicts - {"accepted"}:
        text = "there is no wrong submission to show that the suites find mistakes; add one"
        yield Problem(str(course.submissions), f"{text}: wrong_answer/{assignment.name}/<the bug>/")


def _tests_of(assignment: Assignment, part: Part) -> set[str]:
    """Return the tests of a part; none if its suite is unreadable, which another check reports."""
    try:
        found = prices(assignment.folder / part.suite)
        return {price.test for price in found if price.at_least is None}
    except GraderError:
        return set()


@dataclass(frozen=True)
class _Table:
    line: int
    """Of its header."""
    parts: tuple[Part, ...]
    """Those that the heading above names."""
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def prices(self, column: int) -> list[float]:
        """Return the numbers of a column, split if a row says how its points are split.

        Other cells are not prices.
        """
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
    file = next((folder / HANDOUT for folder in folders if (folder / HANDOUT).is_file()), None)
    for table in _tables(file.read_text(), assignment) if file is not None else ():
        find = _wrong_parts if {"part", "points"} <= set(table.header) else _wrong_sums
        for sentence in find(table, assignment):
            yield Problem(f"{HANDOUT}:{table.line}", sentence)


def _wrong_parts(table: _Table, assignment: Assignment) -> Iterator[str]:
    """Yield mistakes in a table of parts; its other rows are the points given by hand."""
    name, points = table.header.index("part"), table.header.index("points")
    rows = {row[name]: row[points] for row in table.rows if len(row) > max(name, points)}
    for part in assignment.parts:
        found = rows.pop(part.name, None)
        if found is None:
            meant = did_you_mean(part.name, rows)
            worth = points_text(part.points)
            yield f"no row names the part {part.name}; add one with {worth}{meant}"
        elif not _NUMBER.fullmatch(found) or float(found) != part.points:
            yield (
                f"{part.name}: found {found or 'nothing'} here, but assignment.toml gives "
                f"{points_text(part.points)}; {_CHANGE}"
            )
    others = total(float(found) for found in rows.values() if _NUMBER.fullmatch(found))
    by_a_person = total(manual.points for manual in assignment.manual)
    if others != by_a_person:
        yield (
            f"{', '.join(rows) or 'no other row'}: {points_text(others)} here, but "
            f"assignment.toml has {points_text(by_a_person)} graded by hand; {_CHANGE}"
        )


def _wrong_sums(table: _Table, assignment: Assignment) -> Iterator[str]:
    """Yield each column of prices whose sum is not that of any part which it may be for."""
    columns = _columns_of_prices(table.header)
    parts = table.parts or assignment.parts
    for number, column in enumerate(columns):
        paid = total(table.prices(column))
        # If the heading names as many parts as there are columns, they match in that order.
        meant = (parts[number],) if len(columns) == len(parts) else parts
        by_hand = [each.points for each in assignment.manual]
        if not table.parts and paid in (*by_hand, total(by_hand)):
            continue  # the prices of questions
        if paid not in [part.points for part in meant]:
            named = " or ".join(f"{part.name} {points_text(part.points)}" for part in meant)
            named += " without its hidden tests" * any(part.hidden_points for part in meant)
            yield (
                f"the column {table.header[column]} adds up to {written(paid)}, but "
                f"assignment.toml gives {named}; {_CHANGE}"
            )
        elif len(meant) == 1:
            yield from _wrong_rows(table.prices(column), meant[0], assignment)


def _wrong_rows(rows: Sequence[float], part: Part, assignment: Assignment) -> Iterator[str]:
    """Yield a mistake if the rows are not sums of the tests' points, with each test once."""
    try:
        paid = [each.points for each in prices(assignment.folder / part.suite) if each.points]
    except GraderError:  # the check of the suite reports it
        return
    if not are_sums(rows, paid):
        here, there = Counter(rows), Counter(paid)
        yield (
            f"the rows of {part.name} have {_numbers(here - there)}, but its checks have "
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
    """Yield what is left after removing numbers that add up to the one wanted, each rest once."""
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
            others = [
                row for row in others if not (all(map(_RULER, row)) or _is_sum(row, assignment))
            ]
            yield _Table(begin, named, tuple(map(str.casefold, header)), tuple(others))
            rows = []
        if (heading := HEADING.match(line)) and not is_code:
            words = re.findall(r"\w+", heading[2])
            found = tuple(part for part in assignment.parts if part.name in words)
            if found or len(heading[1]) <= level:
                named, level = found, len(heading[1])


def _cells(line: str) -> tuple[str, ...]:
    """Return the texts of a row, without what marks them as code or as bold."""
    inside = re.sub(r"^\||\|$", "", line.strip())
    return tuple(cell.strip(" `*") for cell in re.split(r"(?<!\\)\|", inside))


def _is_sum(row: Sequence[str], assignment: Assignment) -> bool:
    names = {part.name for part in assignment.parts}
    return any(cell.casefold() in _SUMS and cell not in names for cell in row)


STATIC_CHECKS: dict[str, Callable[[Course, Assignment], Iterator[Problem]]] = {
    "files": check_files,
    "suites": check_suites,
    "template": check_template,
    "handout": check_handout,
    "student edition": check_student_edition,
    "labels": check_labels,
}
