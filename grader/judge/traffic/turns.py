"""Judges whether ranks compute at the same time, or one after another."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from grader.judge.check_failures import RuleViolation
from grader.judge.traffic.message_order import Way, arrives_ns, ways_of
from grader.trace.call_formatting import ranks_text
from grader.trace.calls import Trace

Spans = Sequence[NDArray[Any]]
"""Of each rank, when each of its `Pauses` in computing began and ended: shape (pauses, 2)."""
_MOST_PAUSES = 64
"""Of a rank; a submission that forges more cannot keep the judge busy."""


def take_turns(spans_ns: Spans, trace: Trace | None = None) -> bool:
    """Return whether no pause of a rank overlaps one of another rank.

    At least two ranks have to pause twice. trace: of a program whose ranks need not begin a step
    together. Then two pauses of each rank in a row are enough, if its calls also show the order:
    each begins only after its rank has heard of the end of another's that was before it.
    """
    if trace is None:
        return _are_apart(spans_ns, None)
    ways, numbers = ways_of(trace), range(min(max(map(len, spans_ns), default=0), _MOST_PAUSES) - 1)
    return any(_are_apart([each[n : n + 2] for each in spans_ns], ways) for n in numbers)


def _are_apart(spans_ns: Spans, ways: Sequence[Way] | None) -> bool:
    ranks = [rank for rank, spans in enumerate(spans_ns) if len(spans) > 1]
    latest: dict[int, int] = {}
    spans = [(*map(int, each), rank) for rank in ranks for each in spans_ns[rank][:_MOST_PAUSES]]
    spans.sort()
    for begin, end, rank in spans:
        if any(begin < ended for other, ended in latest.items() if other != rank):
            return False
        latest[rank] = max(end, latest.get(rank, end))
    return len(ranks) > 1 and all(
        ways is None or one == other or arrives_ns(ways, one, ended, other) <= begun
        for (_, ended, one), (begun, _, other) in pairwise(spans)
    )


def assert_at_once(spans_ns: Spans, trace: Trace | None = None) -> None:
    """Assert that ranks compute at the same time, as `take_turns` tells; raises RuleViolation."""
    if take_turns(spans_ns, trace):
        ranks = [rank for rank, spans in enumerate(spans_ns) if len(spans) > 1]
        text = f"{ranks_text(ranks).capitalize()} took turns in computing."
        helps = "the ranks must compute their gradients at the same time"
        raise RuleViolation.of("rule.one_after_another", text, help=helps, ranks=ranks)
