"""The page of the prices of one assignment: what each test of its suites asks and pays."""

from collections.abc import Mapping, Sequence

from grader.addons.authoring.catalogue import code, row
from grader.course.assignment import Assignment
from grader.grading_plugin.session import Price
from grader.grading_plugin.session import prices as prices_in
from grader.model.points import written


def price_list(assignment: Assignment) -> str:
    """Return the price list of an assignment as Markdown."""
    by_part = {part.name: prices_in(assignment.folder / part.suite) for part in assignment.parts}
    return prices(assignment, by_part)


def prices(assignment: Assignment, prices_by_part: Mapping[str, Sequence[Price]]) -> str:
    """Return the price list of an assignment as Markdown: a table a part, a row a test."""
    lines = [
        f"# Prices: {assignment.name}\n",
        "*For instructors: a reference.*\n",
        "What each check asks and pays. A check pays all of its points or none; one bug costs the",
        "checks that are about it ([pricing](../pricing.md)).\n",
    ]
    for part in assignment.parts:
        lines += [f"## {part.name}: {written(part.points)} points\n"]
        lines += [row(("points", "test", "what it asks")), row(("---:", "---", "---"))]
        found = prices_by_part[part.name]
        for price in found:
            if price.at_least is None:
                lines.append(row((written(price.points), code(price.test), price.asks)))
        lines += ["", *_stages(found)]
    return "\n".join(lines)


def _stages(found: Sequence[Price]) -> list[str]:
    """Return what a part is paid at least, the most first."""
    stages = sorted(
        ((each.at_least, each.asks) for each in found if each.at_least is not None), reverse=True
    )
    lines = [
        f"- At least {written(points)} point{'' if points == 1 else 's'} where it {asks}."
        for points, asks in stages
    ]
    return [*lines, ""] if lines else []
