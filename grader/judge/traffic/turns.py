"""Judges whether ranks compute at the same time, or one after another."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from grader.judge.check_failures import RuleViolation
from grader.trace.call_formatting import ranks_text


def take_turns(spans_ns: Sequence[NDArray[Any]]) -> bool:
    """Return whether no pause of a rank overlaps one of another rank.

    spans_ns: of each rank, when each of its pauses in computing began and ended, of shape
    (pauses, 2), as `Pauses` of grader.rank.toolbox notes them. At least two ranks have to pause
    twice.
    """
    noted = [
        (*map(int, span), rank)
        for rank, spans in enumerate(spans_ns)
        if len(spans) > 1
        for span in spans
    ]
    return len({rank for *_, rank in noted}) > 1 and not any(
        later < ended and one != other
        for (_, ended, one), (later, _, other) in pairwise(sorted(noted))
    )


def assert_at_once(spans_ns: Sequence[NDArray[Any]]) -> None:
    """Assert that some ranks have computed at the same time, as far as `take_turns` tells.

    Raises RuleViolation.
    """
    if not take_turns(spans_ns):
        return
    ranks = [rank for rank, spans in enumerate(spans_ns) if len(spans) > 1]
    text = f"While one of {ranks_text(ranks)} computed, all others waited: they took turns."
    helps = "the ranks must compute their gradients at the same time"
    raise RuleViolation.of("rule.one_after_another", text, help=helps, ranks=ranks)
