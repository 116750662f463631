"""Judges whether ranks compute at the same time, or one after another."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from grader.judge.check_failures import RuleViolation
from grader.judge.traffic.message_order import Way, arrives_ns, ways_of
from grader.trace.call_formatting import ranks_text
from grader.trace.calls import Trace

Spans = Sequence[NDArray[Any]]
"""Of each rank, when each of its `Pauses` in computing began and ended: shape (pauses, 2)."""
Span = tuple[int, int, int]  # begin, end, and rank of a pause
_MOST_PAUSES = 64
"""Of a rank; a submission that forges more cannot keep the judge busy."""


def take_turns(spans_ns: Spans, trace: Trace | None = None) -> bool:
    """Return whether no pause of a rank overlaps one of another rank.

    At least two ranks have to pause twice. trace: of a program whose ranks need not begin a step
    together. Then two pauses of each rank in a row are enough, if its calls also show the order:
    each begins only after its rank has heard of the end of another's that was before it.
    """
    spans = sorted(
        (int(begun), int(ended), rank)
        for rank, each in enumerate(spans_ns)
        for begun, ended in each[: _MOST_PAUSES * (len(each) > 1)]
    )
    asked = Counter(rank for *_, rank in spans)
    rows = _rows(spans, None if trace is None else ways_of(trace))
    least = asked if trace is None else Counter(dict.fromkeys(asked, 2))
    return len(asked) > 1 and any(row >= least for row in rows)


def _rows(spans: Sequence[Span], ways: Sequence[Way] | None) -> Iterator[Counter[int]]:
    """Yield how many pauses each rank has in each longest row of pauses that are apart."""
    row: list[Span] = []
    for begun, ended, rank in spans:
        is_apart = all(other == rank or end <= begun for _, end, other in row)
        if is_apart and row and ways is not None and (last := row[-1])[2] != rank:
            is_apart = arrives_ns(ways, last[2], last[1], rank) <= begun
        if not is_apart:
            yield Counter(each for *_, each in row)
            row = []
        row.append((begun, ended, rank))
    yield Counter(each for *_, each in row)


def assert_at_once(spans_ns: Spans, trace: Trace | None = None) -> None:
    """Assert that ranks compute at the same time, as `take_turns` tells; raises RuleViolation."""
    if take_turns(spans_ns, trace):
        ranks = [rank for rank, spans in enumerate(spans_ns) if len(spans) > 1]
        text = f"{ranks_text(ranks).capitalize()} took turns in computing."
        helps = "the ranks must compute their gradients at the same time"
        raise RuleViolation.of("rule.one_after_another", text, help=helps, ranks=ranks)
