"""How many calls, elements and bytes a suite expects of an iteration, a call or an edge."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

from grader.judge.check_failures import NotProven, RuleViolation
from grader.judge.traffic.collective_calls import CollectiveCall, collective_calls, messages_of
from grader.judge.traffic.counting import PICKLE_NUM_BYTES, assert_not_truncated, bytes_text
from grader.judge.traffic.neighbours import assert_neighbours_are_known
from grader.model.plural import counted
from grader.trace.call_formatting import at, listed, name_of, place_of, ranks_text
from grader.trace.calls import Call, Trace

Bounds = int | tuple[int, int]
"""A number, or (fewest, most), both of which are allowed."""


def bounds_of(expected: Bounds) -> tuple[int, int]:
    """Return the fewest and the most. Raises ValueError where no number is between them."""
    low, high = (expected, expected) if isinstance(expected, int) else expected
    if not 0 <= low <= high:
        raise ValueError(f"found {expected!r}; expected a number of 0 or more, or (fewest, most)")
    return low, high


def bounds_text(expected: Bounds) -> str:
    """Return `2`, or `2 to 4`."""
    low, high = bounds_of(expected)
    return str(low) if low == high else f"{low} to {high}"


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

    what = f"call{{}} to {' or '.join(sorted(names))}" if names else "collective call{}"
    _assert_per_iteration(traces, expected, calls_of, f"made {{}} {what}")


def assert_messages_per_iteration(
    traces: Mapping[int, Trace], expected: Bounds | Mapping[int, Bounds]
) -> None:
    """Assert how many messages each rank sends to others in an iteration.

    Those that mpi4py sends within comm.allreduce and comm.reduce belong to a collective.
    traces, expected, errors: as of assert_collectives_per_iteration. On a graph of neighbours,
    expected is `{rank: len(neighbours) for rank, neighbours in graph.items()}`.
    """
    _assert_per_iteration(traces, expected, messages_of, "sent {} message{}")


def _assert_per_iteration(
    traces: Mapping[int, Trace],
    expected: Bounds | Mapping[int, Bounds],
    calls_of: Callable[[Trace, int], Sequence[Call]],
    doing: str,
) -> None:
    if len(traces) < 2 or len({len(trace.ranks) for trace in traces.values()}) != 1:
        raise ValueError(
            f"found traces of {sorted(traces)} iterations; expected traces of at least two "
            "different numbers of iterations, all on the same number of ranks"
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
                number = f"{more / iterations:.3g}"
                few = counted(shorter, "iteration")
                raise RuleViolation.of(
                    "rule.calls_per_iteration",
                    f"rank {rank} {doing.format(number, 's' * (number != '1'))} per iteration "
                    f"({len(before)} in {few}, {len(after)} in {longer}); "
                    f"expected {bounds_text(bounds)}{_places(after)}",
                    rank=rank,
                    per_iteration=more / iterations,
                )


def _of_rank(expected: Bounds | Mapping[int, Bounds], rank: int) -> Bounds:
    if not isinstance(expected, Mapping):
        return expected
    if rank not in expected:
        raise ValueError(
            f"`expected` has numbers for {ranks_text(expected)}, but none for rank {rank}"
        )
    return expected[rank]


def _places(calls: Sequence[Call]) -> str:
    """Return what is called in which lines, most often first."""
    places = Counter(f"{name_of(call)}{at(call)}" for call in calls).most_common(_MOST_PLACES)
    return f". The rank called {listed(place for place, _ in places)}" if places else ""


def assert_collective_size(
    trace: Trace, num_elements: Bounds, item_num_bytes: int, *, names: Collection[str] = ()
) -> None:
    """Assert how much each rank passes to each collective call, such as a number, not a vector.

    What counts is what MPI calls sendcount: of an Allgather or Gather the rank's own share, of an
    Alltoall what goes to one rank; of a Scatter and a Bcast what each rank gets. Barriers are free.
    A pickle, of a lower-case call, may be larger by 512 bytes, so let a vector be longer than that.

    num_elements: so many in each call, or (fewest, most). item_num_bytes: the size of one element;
    elements are counted by their bytes, whichever datatype they are sent with. names: blocking
    forms, such as `Allreduce`, of the calls to look at; all when left out. Iallreduce,
    Allreduce_init and comm.allreduce also have that form.
    Raises RuleViolation; NotProven for a trace that is incomplete, or a call whose size is not
    recorded, such as Alltoallv; ValueError for numbers that nothing can have.
    """
    if item_num_bytes < 1:
        raise ValueError(f"found elements of {item_num_bytes} bytes; expected 1 byte or more")
    low, high = (each * item_num_bytes for each in bounds_of(num_elements))
    assert_not_truncated(trace)
    for rank in range(len(trace.ranks)):
        for each in collective_calls(trace, rank):
            if names and each.function not in names:
                continue
            call = each.call
            if call.num_bytes < 0:
                raise NotProven.of(
                    "evidence.unknown_size",
                    f"the record does not say how much rank {rank} passed to "
                    f"{name_of(call)}{at(call)}; your instructor reviews this part",
                    rank=rank,
                    place=place_of(call),
                )
            headers = PICKLE_NUM_BYTES if each.is_pickled else 0
            if not low <= call.num_bytes <= high + headers:
                raise RuleViolation.of(
                    "rule.collective_size",
                    f"rank {rank} passed {_size(each, item_num_bytes)} to "
                    f"{name_of(call)}{at(call)}; expected {_expected(num_elements)} of "
                    f"{bytes_text(item_num_bytes)} in each call",
                    rank=rank,
                    num_bytes=call.num_bytes,
                    place=place_of(call),
                )


def _size(each: CollectiveCall, item_num_bytes: int) -> str:
    num_bytes = each.call.num_bytes
    if each.is_pickled:
        return f"a pickle of {num_bytes} bytes"
    number, rest = divmod(num_bytes, item_num_bytes)
    if rest:
        return bytes_text(num_bytes)
    return f"{counted(number, 'element')} ({bytes_text(num_bytes)})"


def _expected(num_elements: Bounds) -> str:
    plural = "" if bounds_of(num_elements) == (1, 1) else "s"
    return f"{bounds_text(num_elements)} element{plural}"


def bytes_by_edge(trace: Trace) -> Mapping[tuple[int, int], int]:
    """Return how many bytes each rank sent to each other rank, by (sender, receiver).

    What mpi4py sends within comm.allreduce and comm.reduce belongs to a collective and is left out.
    Raises NotProven where the evidence contradicts itself.
    """
    found: Counter[tuple[int, int]] = Counter()
    for rank in range(len(trace.ranks)):
        for call in messages_of(trace, rank):
            found[rank, call.peer] += call.num_bytes
    return found


def assert_bytes_per_edge(trace: Trace, expected: Mapping[tuple[int, int], Bounds]) -> None:
    """Assert how many bytes go along each directed edge in all messages of a case together.

    The number of messages is free, and what a derived datatype skips does not count. Pickles may
    be larger, by 512 bytes each.

    expected: by (sender, receiver), bytes or (fewest, most) bytes, such as
    `dict.fromkeys(edges_of(graph), num_steps * row_num_bytes)`. Other edges are not looked at:
    assert_neighbours is about these.
    Raises RuleViolation; NotProven as assert_neighbours; ValueError for an edge of other ranks.
    """
    num_ranks = len(trace.ranks)
    for edge in expected:
        if edge[0] == edge[1] or not all(0 <= rank < num_ranks for rank in edge):
            raise ValueError(f"edge {edge} must join two different ranks from 0 to {num_ranks - 1}")
    assert_not_truncated(trace)
    assert_neighbours_are_known(trace)
    found_bytes = bytes_by_edge(trace)
    for (sender, receiver), bounds in expected.items():
        sent = [call for call in messages_of(trace, sender) if call.peer == receiver]
        low, high = bounds_of(bounds)
        headers = PICKLE_NUM_BYTES * sum(call.pickled for call in sent)
        if not low <= found_bytes[sender, receiver] <= high + headers:
            raise RuleViolation.of(
                "rule.bytes_per_edge",
                f"rank {sender} sent "
                f"{_account(found_bytes[sender, receiver], receiver, sent)}; "
                f"expected {bounds_text(bounds)} bytes",
                rank=sender,
                peer=receiver,
                num_bytes=found_bytes[sender, receiver],
                places=[place_of(call) for call in sent[:1]],
            )


def _account(num_bytes: int, receiver: int, sent: Sequence[Call]) -> str:
    if not sent:
        return f"nothing to rank {receiver}"
    how = "with" if len(sent) == 1 else f"in {len(sent)} messages, the first with"
    return f"{bytes_text(num_bytes)} to rank {receiver} {how} {name_of(sent[0])}{at(sent[0])}"
