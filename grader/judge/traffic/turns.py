"""Judges whether ranks compute at the same time, or one after another."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from grader.judge.check_failures import RuleViolation
from grader.trace.call_formatting import ranks_text


def assert_at_once(spans_ns: Sequence[NDArray[Any]]) -> None:
    """Assert that some ranks have computed at the same time.

    spans_ns: of each rank, when each of its pauses in computing began and ended, of shape
    (pauses, 2), as `Pauses` of grader.rank.toolbox notes them. Not judged unless two ranks have
    paused twice. Raises RuleViolation where no pause of a rank overlaps one of another rank.
    """
    ranks = [rank for rank, spans in enumerate(spans_ns) if len(spans) > 1]
    noted = sorted((*map(int, span), rank) for rank in ranks for span in spans_ns[rank])
    if len(ranks) < 2 or any(
        later < ended and one != other for (_, ended, one), (later, _, other) in pairwise(noted)
    ):
        return
    text = f"While one of {ranks_text(ranks)} computed, all others waited: they took turns."
    helps = "the ranks must compute their gradients at the same time"
    raise RuleViolation.of("rule.one_after_another", text, help=helps, ranks=ranks)
