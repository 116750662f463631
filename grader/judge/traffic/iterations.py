"""How often something is called in an iteration: told from runs of different lengths."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

from grader.judge.check_failures import RuleViolation
from grader.judge.traffic.bounds import Bounds, bounds_of, bounds_text
from grader.judge.traffic.collective_calls import collective_calls, messages_of
from grader.judge.traffic.counting import assert_not_truncated
from grader.model.finding import found
from grader.trace.call_formatting import at, listed, name_of, ranks_text
from grader.trace.calls import Call, Trace

_MOST_PLACES = 4


def assert_collectives_per_iteration(
    traces: Mapping[int, Trace],
    expected: Bounds | Mapping[int, Bounds],
    *,
    names: Collection[str] = (),
) -> None:
    """Assert how many collective calls each rank makes in an iteration.

    What a longer run calls more often than a shorter one is divided by the iterations it has more:
    so calls before and after the loop do not count. A lower-case call is one call, a persistent one
    counts whenever it is started, and barriers are free.

    traces: of the same call on as many ranks, by its number of iterations, at least two.
    expected: so many an iteration, or (fewest, most), or that by rank; a rank that is alone may
    make fewer. names: blocking forms, such as `Allreduce`, of those that count; all when left out.
    Iallreduce, Allreduce_init and comm.allreduce also have that form.
    Raises RuleViolation; NotProven for a trace that is incomplete; ValueError for fewer than two
    traces, traces of different numbers of ranks, or ranks that nothing is expected of.
    """

    def calls_of(trace: Trace, rank: int) -> list[Call]:
        calls = collective_calls(trace, rank)
        return [each.call for each in calls if not names or each.function in names]

    what = "collective calls" if not names else f"calls of {' or '.join(sorted(names))}"
    _assert_per_iteration(traces, expected, calls_of, f"makes {{}} {what}")


def assert_messages_per_iteration(
    traces: Mapping[int, Trace], expected: Bounds | Mapping[int, Bounds]
) -> None:
    """Assert how many messages each rank sends to others in an iteration.

    Those that mpi4py sends within comm.allreduce and comm.reduce belong to a collective.
    traces, expected, errors: as of assert_collectives_per_iteration. On a graph of neighbours,
    expected is `{rank: len(neighbours) for rank, neighbours in graph.items()}`.
    """
    _assert_per_iteration(traces, expected, messages_of, "sends {} messages")


def _assert_per_iteration(
    traces: Mapping[int, Trace],
    expected: Bounds | Mapping[int, Bounds],
    calls_of: Callable[[Trace, int], Sequence[Call]],
    doing: str,
) -> None:
    if len(traces) < 2 or len({len(trace.ranks) for trace in traces.values()}) != 1:
        raise ValueError(
            f"traces of {sorted(traces)} iterations: expected two or more numbers of "
            "iterations, each run on as many ranks"
        )
    for trace in traces.values():
        assert_not_truncated(trace)
    for shorter, longer in pairwise(sorted(traces)):
        num_ranks = len(traces[longer].ranks)
        for rank in range(num_ranks):
            before = calls_of(traces[shorter], rank)
            after = calls_of(traces[longer], rank)
            bounds = _of_rank(expected, rank)
            low, high = bounds_of(bounds)
            more, iterations = len(after) - len(before), longer - shorter
            if not (low * iterations <= more or num_ranks == 1) or more > high * iterations:
                raise RuleViolation(
                    found(
                        "rule.calls_per_iteration",
                        f"rank {rank} {doing.format(f'{more / iterations:.3g}')} an iteration "
                        f"({len(before)} in {shorter}, {len(after)} in {longer}); expected "
                        f"{bounds_text(bounds)}{_places(after)}",
                        rank=rank,
                        per_iteration=more / iterations,
                    )
                )


def _of_rank(expected: Bounds | Mapping[int, Bounds], rank: int) -> Bounds:
    if not isinstance(expected, Mapping):
        return expected
    if rank not in expected:
        raise ValueError(f"numbers of {ranks_text(expected)} are expected, and none of rank {rank}")
    return expected[rank]


def _places(calls: Sequence[Call]) -> str:
    """Return what is called in which lines, most often first."""
    places = Counter(f"{name_of(call)}{at(call)}" for call in calls).most_common(_MOST_PLACES)
    return f"; it calls {listed(place for place, _ in places)}" if places else ""
