"""Says what a test found wrong: differing elements, quantities beside what is allowed, lines."""

from collections.abc import Sequence
from decimal import Decimal

from grader.model.evidence import Budget, Differences, MarkedLine

_TAB_NUM_COLUMNS = 4


def differing_text(found: Differences) -> str:
    """Return how many elements of a rank's array differ, and what is in the first."""
    verb = "differs" if found.num_differing == 1 else "differ"
    noun = "element" if found.num_elements == 1 else "elements"
    told = f"rank {found.rank}: {found.num_differing} of {found.num_elements} {noun} {verb}"
    if found.num_differing > len(found.elements):
        number = f" {len(found.elements)}" if len(found.elements) > 1 else ""
        told += f"; the first{number} of them"
    return told + (f"; in the first: {found.made_of}" if found.made_of else "")


def percents(found: Sequence[Budget]) -> dict[str, float]:
    """Return how many percent wide 1 is, by unit: bytes and seconds have no length in common."""
    most: dict[str, float] = {}
    for each in found:
        largest = max(each.actual, each.allowed, each.reference or 0)
        most[each.unit] = max(most.get(each.unit, 0), largest)
    return {unit: 96 / (number or 1) for unit, number in most.items()}


def quantity_text(value: float | None, unit: str) -> str:
    """Return `320 elements`; empty for None."""
    return "" if value is None else f"{short_number(value, 6)} {unit}"


def pieces_of(line: MarkedLine) -> tuple[str, str, str]:
    """Return a line before, in and after what the finding is about, without tabs."""
    whole = line.text.expandtabs(_TAB_NUM_COLUMNS)
    if line.column == 0:
        return whole, "", ""
    first, last = line.column - 1, line.column - 1 + line.num_columns
    before, marked = (line.text[:end].expandtabs(_TAB_NUM_COLUMNS) for end in (first, last))
    return before, whole[len(before) : len(marked)], whole[len(marked) :]


def short_number(value: float, num_digits: int = 3) -> str:
    """Return a number in that many significant digits, and in all digits before its point."""
    shown = f"{value:.0f}" if abs(value) >= 10**num_digits else f"{value:.{num_digits}g}"
    return f"{Decimal(shown):f}" if "e" in shown else shown
