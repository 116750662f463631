"""Two of one name have handed in: only the numbers of the platform tell whose is which."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from grader.addons.classroom.hand_in import HandIn
from grader.addons.classroom.roster import comparable

_NUMBERS_OF = {"name": ("moodle", "email", "id"), "canvas_name": ("canvas",)}
"""What is one's own in what a platform says beside each kind of name."""


def shared(hand_ins: Iterable[HandIn]) -> set[tuple[str, str]]:
    """Return the names under which several have handed in, each with its column."""
    numbers = defaultdict(set)
    for each in hand_ins:
        for who in (each.who, *each.other_authors):
            for column, own in _NUMBERS_OF.items():
                number = tuple(who.get(one) for one in own)
                if column in who and any(number):
                    numbers[column, comparable(who[column], column)].add(number)
    return {name for name, found in numbers.items() if len(found) > 1}


def by_number(hand_in: HandIn, names: set[tuple[str, str]]) -> HandIn:
    """Return the hand-in without those names of its authors that are among these.

    The roster may have only one of that name, and would take the work of both for hers.
    """
    before = [dict(who) for who in (hand_in.who, *hand_in.other_authors)]
    left = [
        {
            column: value
            for column, value in who.items()
            if column not in _NUMBERS_OF or (column, comparable(value, column)) not in names
        }
        for who in before
    ]
    first, *others = left
    return replace(hand_in, who=first, other_authors=tuple(others), is_of_namesakes=left != before)
