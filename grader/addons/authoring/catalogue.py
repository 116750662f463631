"""The page that lists all assignments, and the page with the prices of one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from grader.course.assignment import Assignment
from grader.course.assignment_file import Manual, Part
from grader.course.courses import Courses
from grader.intake.placement.recognition import full_name
from grader.model.errors import GraderError
from grader.model.plural import counted
from grader.model.points import points_text, total, written

if TYPE_CHECKING:
    from grader.grading_plugin.session import Price

_HEAD = """\
# Assignments

*For instructors: a reference.*

This page lists every part of every assignment. The `HANDOUT.md` of each template says what students
must write.
"""
_COLUMNS = ("part", "points", "asked", "handed in", "rules, besides correct results")
_BY_A_PERSON = "graded by hand, pending until then"


def listing(courses: Courses, named: Sequence[Assignment] = (), *, is_page: bool) -> str:
    """Return assignments, or all, as a page or for a terminal. Raises GraderError for none."""
    known = named or courses.assignments()
    if not known:
        folders = " or ".join(str(course.suites) for course in courses.courses)
        raise GraderError(f"no assignment is installed in {folders}")
    return markdown(known) if is_page else text(known)


def markdown(assignments: Sequence[Assignment]) -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *(line for each in assignments for line in _section(each))])


def text(assignments: Sequence[Assignment]) -> str:
    """Return the list for a terminal: each part with its points and files."""
    lines = []
    for found in assignments:
        lines.append(f"{full_name(found, assignments)}: {found.title}")
        for part in found.parts:
            files = f"{', '.join(part.files)}{_hidden(found, part)}"
            lines.append(_line(part.name, part.points, files))
        for manual in found.manual:
            lines.append(_line(manual.name, manual.points, f"{manual.file}, by hand"))
    return "".join(f"{line}\n" for line in lines)


def _hidden(assignment: Assignment, part: Part) -> str:
    """Return what a part's hidden checks are worth, where the course has them."""
    is_here = (assignment.folder / part.hidden_suite).is_file()
    return f", and {points_text(part.hidden_points)} of hidden checks" if is_here else ""


def _line(name: str, points: float, files: str) -> str:
    return f"  {name:<20} {written(points):>4} points  {files}"


def _section(assignment: Assignment) -> Iterator[str]:
    automatic = total(part.points for part in assignment.parts)
    manual = total(each.points for each in assignment.manual)
    by_a_person = f", and {written(manual)} graded by hand" if manual else ""
    yield f"## {assignment.name}\n"
    yield f"{assignment.title}. {written(automatic)} points{by_a_person}.\n"
    if assignment.source:
        yield f"Source: {assignment.source}.\n"
    yield row(_COLUMNS)
    yield row(["---", "---:", "---", "---", "---"])
    yield from map(_part_row, assignment.parts)
    yield from map(_manual_row, assignment.manual)
    yield ""
    yield from _rubric(assignment)


def _part_row(part: Part) -> str:
    names = [(file, *part.accepted_names.get(file, ())) for file in part.files]
    files = [" or ".join(map(code, each)) for each in names]
    rules = "; ".join(part.rules)
    return row([code(part.name), written(part.points), part.title, ", ".join(files), rules])


def _manual_row(manual: Manual) -> str:
    points = written(manual.points)
    names = " or ".join(code(name) for name in (manual.file, *manual.other_names))
    most = manual.max_pages
    pages = f", at most {counted(most, 'page')}" if most is not None else ""
    return row([code(manual.name), points, manual.title, names + pages, _BY_A_PERSON])


def _rubric(assignment: Assignment) -> Iterator[str]:
    """Yield the table of what a person gives points for, where the assignment says it."""
    lines = [(manual, line) for manual in assignment.manual for line in manual.rubric]
    if lines:
        yield row(["graded by hand", "points", "for"])
        yield row(["---", "---:", "---"])
        for manual, line in lines:
            yield row([code(manual.name), written(line.points), line.asked])
        yield ""


def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |".replace("|  |", "| |")


def code(text: str) -> str:
    """Return a text as Markdown shows what is typed."""
    return f"`{text}`"


def price_list(assignment: Assignment) -> str:
    """Return the price list of an assignment as Markdown."""
    from grader.grading_plugin.session import prices as prices_in

    by_part = {part.name: prices_in(assignment.folder / part.suite) for part in assignment.parts}
    return prices(assignment, by_part)


def prices(assignment: Assignment, prices_by_part: Mapping[str, "Sequence[Price]"]) -> str:
    """Return the price list of an assignment as Markdown: a table a part, a row a test."""
    lines = [
        f"# Prices: {assignment.name}\n",
        "*For instructors: a reference.*\n",
        "This page lists what each check asks for, and what it is worth. A check earns all of its",
        "points or none; a bug costs only the points of the checks that it breaks",
        "([pricing](../pricing.md)).\n",
    ]
    for part in assignment.parts:
        lines += [f"## {part.name}: {written(part.points)} points{_hidden(assignment, part)}\n"]
        lines += [row(("points", "test", "what it asks for")), row(("---:", "---", "---"))]
        found = prices_by_part[part.name]
        for price in found:
            if price.at_least is None:
                lines.append(row((written(price.points), code(price.test), price.asks)))
        lines += ["", *_stages(found)]
    return "\n".join(lines)


def _stages(found: "Sequence[Price]") -> list[str]:
    """Return the minimum points for each stage of a part, the most first."""
    stages = sorted(
        ((each.at_least, each.asks) for each in found if each.at_least is not None), reverse=True
    )
    lines = [f"- At least {points_text(points)} if the code {asks}." for points, asks in stages]
    return [*lines, ""] if lines else []
