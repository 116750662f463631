"""How many elements an all-reduce sends: what was counted against the closed form."""

from collections.abc import Sequence

from grader.judge.check_failures import RuleViolation
from grader.judge.traffic.counting import (
    assert_not_truncated,
    bytes_sent,
    messages_sent,
    recorded_sends,
)
from grader.model.evidence import Budget
from grader.model.finding import found
from grader.trace.calls import Trace

PICKLE_NUM_BYTES = 512
"""More than a pickle of an array adds to it. Pickling costs the test that asks for buffers, not
those that ask how much is sent."""


def assert_ring_volume(
    trace: Trace, num_elements: int, item_num_bytes: int, *, grain: int = 1
) -> None:
    """Assert that a ring's share was sent, whichever way the array was cut into chunks.

    A ring all-reduce (reduce-scatter, then all-gather; Patarasuk and Yuan 2009) of L elements on n
    ranks sends 2 (n - 1) L in all. With chunks padded to equal length it is 2 (n - 1) n ceil(L / n)
    in all, 2 (n - 1) ceil(L / n) by each rank, which also bounds every unpadded ring. Who cuts the
    array into segments and sends each around the ring by itself may add an element to each message,
    on some ranks, at the cost of others. The number of messages is free.

    num_elements: L; with 0 nothing need be sent. item_num_bytes: the size of one element.
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
            f"2 (n - 1) ceil(L / n) with n = {n} ranks and L = {length} elements"
            f"{f' in pieces of {grain}' if grain > 1 else ''}"
            f"{', and one more for each further message' if any(rounded) else ''}"
        ),
        in_all=(num_hops * length, num_hops * n * padded),
        in_all_formula=f"2 (n - 1) L with n = {n} ranks and L = {length} elements",
        algorithm="a ring",
    )


def assert_naive_volume(trace: Trace, num_elements: int, item_num_bytes: int) -> None:
    """Assert that each of n ranks sent L elements to each other rank: n (n - 1) L in all.

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
        in_all_formula=f"n (n - 1) L with n = {n} ranks and L = {length} elements",
        algorithm="the naive exchange",
    )
    for rank in range(n):
        to_all = recorded_sends(trace, rank)
        for other in set(range(n)) - {rank}:
            sent = to_all.where(to_all.column("peer") == other)
            num_bytes = sent.total("num_bytes")
            headers = PICKLE_NUM_BYTES * int(sent.flag("pickled").sum())
            if not _fits(num_bytes, (length, length), item_num_bytes, headers):
                raise RuleViolation(
                    found(
                        "volume.not_own_array",
                        f"rank {rank} sent rank {other} "
                        f"{_elements(num_bytes, item_num_bytes)}; in the naive exchange, each "
                        f"rank sends its own array of {length} elements to every other rank",
                        rank=rank,
                        peer=other,
                        num_bytes=num_bytes,
                    )
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
    if in_all[0] > 0 and not any(sent):
        raise RuleViolation(
            found(
                "volume.nothing_sent",
                f"no rank sent anything; {algorithm} sends {_between(in_all)} elements in all, "
                f"{in_all_formula}",
            )
        )
    for rank, num_bytes in enumerate(sent):
        if not _fits(num_bytes, by_each[rank], item_num_bytes, headers[rank]):
            limit = "at most " if by_each[rank][0] < by_each[rank][1] else ""
            raise RuleViolation.over(
                found(
                    "volume.of_a_rank",
                    f"rank {rank} sent {_elements(num_bytes, item_num_bytes)}; {algorithm} sends "
                    f"{limit}{by_each[rank][1]} from each rank, {by_each_formula}",
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
                "sends "
                f"{_between(in_all)} in all, {in_all_formula}",
                num_bytes=sum(sent),
                allowed=in_all[1] * item_num_bytes,
            ),
            (together, *_budgets(sent, item_num_bytes, by_each, by_each_formula)),
        )
    assert_not_truncated(trace)


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
        return f"{num_bytes} bytes, that is {num_bytes / item_num_bytes:.1f} elements"
    return f"{number} elements ({num_bytes} bytes)"


def _between(bounds: tuple[int, int]) -> str:
    if bounds[0] == bounds[1]:
        return f"{bounds[0]}"
    return f"{bounds[0]} to {bounds[1]} (with chunks padded to equal length)"
