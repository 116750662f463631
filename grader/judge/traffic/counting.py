"""Counts what a trace holds: messages and bytes, by rank and by pair of ranks."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from math import log2

from grader.judge.check_failures import NotProven, RuleViolation
from grader.model.evidence import Budget
from grader.model.finding import found
from grader.model.plural import counted
from grader.trace.call_formatting import at, name_of, place_of
from grader.trace.calls import PROC_NULL, Call, Calls, Mask, Trace
from grader.trace.functions import ALL


def assert_no_doubts(trace: Trace) -> None:
    """Raise NotProven when the evidence contradicts itself: neither way can be told from it."""
    if trace.doubts:
        raise NotProven.of(
            "evidence.disagrees",
            f"our records of this run disagree: {trace.doubts[0]}. Your instructor reviews "
            "this part",
            ranks=trace.doubtful_ranks,
            doubts=trace.doubts,
        )


def assert_not_truncated(trace: Trace) -> None:
    """Assert that every call of every rank was recorded, and that the records are consistent.

    Raises NotProven: a rank was not observed, calls were lost, a record makes no sense, or the
    evidence contradicts itself.
    """
    assert_no_doubts(trace)
    for rank, seen in enumerate(trace.ranks):
        if not seen.attached:
            raise NotProven.of(
                "evidence.not_recorded",
                f"rank {rank}'s calls were not recorded, so this check proves nothing",
                rank=rank,
            )
        if seen.truncated:
            raise NotProven.of(
                "evidence.calls_not_kept",
                f"rank {rank} made more calls than the grader keeps, so this check proves "
                "nothing; a correct solution needs far fewer",
                rank=rank,
            )
        is_known = seen.calls.function_is(ALL.__contains__)
        unreadable = ~is_known | (_are_messages(seen.calls) & ~_are_readable(seen.calls, trace))
        for call in seen.calls.where(unreadable)[:1]:
            raise NotProven.of(
                "evidence.makes_no_sense",
                f"the record of rank {rank}'s call{at(call)} is inconsistent "
                f"({name_of(call)}, peer {call.peer}, {bytes_text(call.num_bytes)}), so "
                "this check proves nothing",
                rank=rank,
                place=place_of(call),
            )


def sends_of(trace: Trace, rank: int) -> list[Call]:
    """Return the messages that `rank` sent to other ranks, in order.

    A message to oneself or to PROC_NULL goes nowhere and is not among them; nor is a send that
    failed, or whose record makes no sense. Raises NotProven where the evidence contradicts itself.
    """
    return list(recorded_sends(trace, rank))


def recorded_sends(trace: Trace, rank: int) -> Calls:
    """Return what sends_of returns, as records; raises as it does."""
    return trace.ranks[rank].calls.where(are_sends(trace, rank))


def are_sends(trace: Trace, rank: int) -> Mask:
    """Return which calls of `rank` are those of sends_of; raises as it does."""
    assert_no_doubts(trace)
    calls = trace.ranks[rank].calls
    peers = calls.column("peer")
    is_to_others: Mask = (peers != rank) & (peers != PROC_NULL)
    sends = calls.flag("is_send") & is_to_others
    return sends & _are_messages(calls) & _are_readable(calls, trace)


def messages_sent(trace: Trace) -> list[int]:
    """Return for each rank how many messages it sent to other ranks."""
    return [len(recorded_sends(trace, rank)) for rank in range(len(trace.ranks))]


def sends_anything(trace: Trace) -> bool:
    """Return whether any rank sent a message to another."""
    return any(len(recorded_sends(trace, rank)) for rank in range(len(trace.ranks)))


def bytes_sent(trace: Trace) -> list[int]:
    """Return for each rank how many bytes it sent to other ranks."""
    return [recorded_sends(trace, rank).total("num_bytes") for rank in range(len(trace.ranks))]


def messages(trace: Trace, source: int, destination: int) -> list[Call]:
    """Return the messages from rank `source` to rank `destination`, in the order they were sent."""
    sent = recorded_sends(trace, source)
    return list(sent.where(sent.column("peer") == destination))


def calls_by_rank(
    trace: Trace, *, functions: Collection[str] | None = None
) -> Iterator[tuple[int, Call]]:
    """Yield every call with its rank: rank 0's in order, then rank 1's, ...

    functions: only calls of these. A caller that needs few of them should name them, because a
    trace may hold a great many others.
    """
    for rank, seen in enumerate(trace.ranks):
        calls = seen.calls
        if functions is not None:
            calls = calls.where(calls.function_is(functions.__contains__))
        for call in calls:
            yield rank, call


def only_prepare(calls: Calls) -> Mask:
    """Return which calls make a persistent request and do not start it."""
    return calls.function_is(lambda name: name.endswith("_init")) & ~calls.flag("creates_request")


def _are_messages(calls: Calls) -> Mask:
    """Return which calls posted a message; making a persistent request does not yet."""
    posts = calls.flag("is_send") | calls.flag("is_receive")
    found: Mask = posts & ~only_prepare(calls) & (calls.column("error") == 0)
    return found


def _are_readable(calls: Calls, trace: Trace) -> Mask:
    peers = calls.column("peer")
    can_be_sent = ((peers >= 0) | (peers == PROC_NULL)) & (calls.column("num_bytes") >= 0)
    found: Mask = (peers < len(trace.ranks)) & (can_be_sent | ~calls.flag("is_send"))
    return found


PICKLE_NUM_BYTES = 512
"""More than a pickle of an array adds to it. Pickling costs the test that asks for buffers, not
those that ask how much is sent."""


def assert_ring_volume(
    trace: Trace, num_elements: int, item_num_bytes: int, *, grain: int = 1
) -> None:
    """Assert that ranks sent as much as a ring needs, however the array was cut into chunks.

    A ring all-reduce (reduce-scatter, then all-gather; Patarasuk and Yuan 2009) of L elements on n
    ranks sends 2 (n - 1) L in all. With chunks padded to equal length it is 2 (n - 1) n ceil(L / n)
    in all, 2 (n - 1) ceil(L / n) by each rank, which also bounds every unpadded ring. Code that
    cuts the array into segments, and sends each around the ring separately, may add an element to
    each message on some ranks, and save as many on others. The number of messages is free.

    num_elements: L; with 0, ranks need not send. item_num_bytes: the size of one element.
    grain: how many elements may be kept together, such as the length of a row.
    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    n, length = len(trace.ranks), num_elements
    padded = -(-length // (n * grain)) * grain if n else 0
    num_hops = 2 * (n - 1)
    rounded = [max(number - num_hops, 0) * grain for number in messages_sent(trace)]
    _assert_volume(
        trace,
        item_num_bytes,
        by_each=[(0, num_hops * padded + more) for more in rounded],
        by_each_formula=(
            f"2(n - 1) ceil(L/n) with n = {n} ranks and L = {length} elements"
            f"{f' in pieces of {grain}' if grain > 1 else ''}"
            f"{f', and {grain} more for each message beyond 2(n - 1)' if any(rounded) else ''}"
        ),
        in_all=(num_hops * length, num_hops * n * padded),
        in_all_formula=f"2(n - 1) L with n = {n} ranks and L = {length} elements",
        algorithm="a ring",
    )


def assert_naive_volume(trace: Trace, num_elements: int, item_num_bytes: int) -> None:
    """Assert that each of n ranks sent L elements to each other rank: n(n - 1) L in all.

    num_elements: L; with 0 nothing need be sent. item_num_bytes: the size of one element.
    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    n, length = len(trace.ranks), num_elements
    by_each = (n - 1) * length
    _assert_volume(
        trace,
        item_num_bytes,
        by_each=[(by_each, by_each)] * n,
        by_each_formula=f"(n - 1) L with n = {n} ranks and L = {length} elements",
        in_all=(n * by_each, n * by_each),
        in_all_formula=f"n(n - 1) L with n = {n} ranks and L = {length} elements",
        algorithm="the naive exchange",
    )
    for rank in range(n):
        to_all = recorded_sends(trace, rank)
        for other in set(range(n)) - {rank}:
            sent = to_all.where(to_all.column("peer") == other)
            num_bytes = sent.total("num_bytes")
            headers = PICKLE_NUM_BYTES * int(sent.flag("pickled").sum())
            if not _fits(num_bytes, (length, length), item_num_bytes, headers):
                raise RuleViolation.of(
                    "volume.not_own_array",
                    f"rank {rank} sent {_elements(num_bytes, item_num_bytes)} to rank {other}; "
                    f"in the naive exchange, each rank sends its own array (length {length}) "
                    "to every other rank",
                    rank=rank,
                    peer=other,
                    num_bytes=num_bytes,
                )


def _assert_volume(
    trace: Trace,
    item_num_bytes: int,
    *,
    by_each: Sequence[tuple[int, int]],
    by_each_formula: str,
    in_all: tuple[int, int],
    in_all_formula: str,
    algorithm: str,
) -> None:
    """Assert that each rank, and all together, sent between the two numbers of elements."""
    sent = bytes_sent(trace)
    headers = [
        PICKLE_NUM_BYTES * int(recorded_sends(trace, rank).flag("pickled").sum())
        for rank in range(len(trace.ranks))
    ]
    most = f". With chunks padded to equal length, up to {in_all[1]} elements are allowed"
    padded = most if in_all[0] < in_all[1] else ""
    if in_all[0] > 0 and not any(sent):
        raise RuleViolation.of(
            "volume.nothing_sent",
            f"no rank sent anything; {algorithm} sends {in_all[0]} elements in all: "
            f"{in_all_formula}{padded}",
        )
    for rank, num_bytes in enumerate(sent):
        if not _fits(num_bytes, by_each[rank], item_num_bytes, headers[rank]):
            limit = "at most " if by_each[rank][0] < by_each[rank][1] else ""
            raise RuleViolation.over(
                found(
                    "volume.of_a_rank",
                    f"rank {rank} sent {_elements(num_bytes, item_num_bytes)}; in {algorithm}, "
                    f"each rank sends {limit}{by_each[rank][1]} "
                    f"element{'' if by_each[rank][1] == 1 else 's'}: {by_each_formula}",
                    help=_help_with_dtype(recorded_sends(trace, rank), item_num_bytes),
                    rank=rank,
                    num_bytes=num_bytes,
                    allowed=by_each[rank][1] * item_num_bytes,
                ),
                _budgets(sent, item_num_bytes, by_each, by_each_formula),
            )
    if not _fits(sum(sent), in_all, item_num_bytes, sum(headers)):
        together = Budget(
            "all ranks", sum(sent) / item_num_bytes, float(in_all[1]), "elements", in_all_formula
        )
        raise RuleViolation.over(
            found(
                "volume.of_all_ranks",
                f"the ranks together sent {_elements(sum(sent), item_num_bytes)}; {algorithm} "
                f"sends {in_all[0]} elements in all: {in_all_formula}{padded}",
                num_bytes=sum(sent),
                allowed=in_all[1] * item_num_bytes,
            ),
            (together, *_budgets(sent, item_num_bytes, by_each, by_each_formula)),
        )
    assert_not_truncated(trace)


def _help_with_dtype(sends: Iterable[Call], item_num_bytes: int) -> str:
    """Return what to do where messages hold longer numbers than the array; else nothing."""
    widest = max(
        (each.num_bytes // each.num_elements for each in sends if each.num_elements > 0), default=0
    )
    if widest <= item_num_bytes:
        return ""
    return (
        f"its messages hold {widest}-byte numbers; use the array's dtype ({item_num_bytes} bytes)"
    )


def _budgets(
    sent: Sequence[int], item_num_bytes: int, by_each: Sequence[tuple[int, int]], formula: str
) -> tuple[Budget, ...]:
    """Return what each rank sent beside what it may send."""
    return tuple(
        Budget(f"rank {rank}", num_bytes / item_num_bytes, float(most), "elements", formula)
        for rank, (num_bytes, (_, most)) in enumerate(zip(sent, by_each, strict=True))
    )


def _fits(num_bytes: int, bounds: tuple[int, int], item_num_bytes: int, headers: int) -> bool:
    return bounds[0] * item_num_bytes <= num_bytes <= bounds[1] * item_num_bytes + headers


def _elements(num_bytes: int, item_num_bytes: int) -> str:
    number, rest = divmod(num_bytes, item_num_bytes)
    if rest:
        return f"{bytes_text(num_bytes)} ({num_bytes / item_num_bytes:.1f} elements)"
    return f"{counted(number, 'element')} ({bytes_text(num_bytes)})"


def bytes_text(num_bytes: int) -> str:
    """Return `1 byte` or `96 bytes`."""
    return counted(num_bytes, "byte")


def assert_envelopes_too_small(trace: Trace, needed_num_bytes: float) -> None:
    """Assert that message envelopes alone cannot carry the data that the other ranks need.

    needed_num_bytes: the least that a rank must send. Code that sends an array element by element,
    with the index as tag, stays far below it. Raises NotProven.
    """
    assert_not_truncated(trace)
    for rank in range(len(trace.ranks)):
        sent = recorded_sends(trace, rank)
        num_kinds = len(set(sent.keys("peer", "tag", "num_bytes")))
        num_bytes = len(sent) * log2(max(num_kinds, 1)) / 8
        if num_bytes >= needed_num_bytes:
            raise NotProven.of(
                "evidence.envelopes_could_tell",
                f"rank {rank} sent {len(sent)} messages with {num_kinds} different "
                "combinations of receiver, tag, and length. These alone can carry "
                f"{num_bytes:.0f} bytes; the result needs only {needed_num_bytes:.0f}. "
                "The result might not come from the messages' content; "
                "your instructor reviews this part",
                rank=rank,
                num_messages=len(sent),
            )
