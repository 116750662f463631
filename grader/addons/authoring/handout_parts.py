"""The handout of some parts of an assignment: what it says of the others alone is left out."""

import re
from collections.abc import Collection, Iterator, Sequence

from grader.course.assignment import Assignment
from grader.model.points import total, written

_HEADING = re.compile(r"(#+) (.*)")
_QUESTION = re.compile(r"\d+\. \*\*(\w+)\*\*")
_POINTS = re.compile(r"\|\s*(\d+(?:\.\d+)?)\s*\|\s*$")


def of_parts(text: str, assignment: Assignment, wanted: Collection[str]) -> str:
    """Return a handout without the sections, rows and questions of parts that are not wanted.

    Questions are numbered anew, and the row of what a person marks has the points that are left. A
    section goes whose questions are all gone. What prose says of other parts stays.
    """
    marked = {each.name: each.points for each in assignment.manual}
    known = {each.name for each in assignment.parts} | marked.keys()
    by_people = total(marked.values())
    left = total(points for name, points in marked.items() if name in wanted)
    kept: list[str] = []
    for section in _sections(text, known - {*wanted}, known):
        asked = {found[1] for line in section if (found := _QUESTION.match(line))} & marked.keys()
        if not asked or asked & {*wanted}:
            kept += _without(section, known - {*wanted}, known, (by_people, left))
    return "\n".join([*kept, ""])


def _sections(text: str, unwanted: Collection[str], known: Collection[str]) -> Iterator[list[str]]:
    """Yield the sections, each with its heading, but those that name unwanted parts alone."""
    section: list[str] = []
    left_out, is_code = 0, False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        heading = None if is_code else _HEADING.match(line)
        if heading:
            yield section
            section = []
            level = len(heading[1])
            named = {word for word in re.findall(r"\w+", heading[2]) if word in known}
            if not left_out or level <= left_out:
                left_out = level if named and named <= {*unwanted} else 0
        if not left_out:
            section.append(line)
    yield section


def _without(
    section: Sequence[str],
    unwanted: Collection[str],
    known: Collection[str],
    by_people: tuple[float, float],
) -> Iterator[str]:
    """Yield the lines of a section but those of unwanted parts.

    by_people: the points that a person gives in all, and those that are left of them.
    """
    number, is_left_out, is_of_parts = 0, False, False
    for line in section:
        if question := _QUESTION.match(line):
            is_left_out = question[1] in unwanted
            number += not is_left_out
        elif not line.startswith(" "):
            is_left_out = False
        first = line.split("|")[1].strip(" `*") if line.startswith("|") else ""
        is_of_parts = bool(first) and (is_of_parts or first == "part")
        points = _POINTS.search(line)
        if is_left_out or first in unwanted:
            continue
        if points and is_of_parts and first not in known and float(points[1]) == by_people[0]:
            if by_people[1]:
                yield line[: points.start(1)] + written(by_people[1]) + line[points.end(1) :]
        else:
            yield re.sub(r"^\d+", str(number), line) if question else line
