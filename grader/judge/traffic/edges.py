"""How many bytes go from which rank to which."""

from collections import Counter
from collections.abc import Mapping, Sequence

from grader.judge.check_failures import RuleViolation
from grader.judge.traffic.bounds import Bounds, bounds_of, bounds_text
from grader.judge.traffic.collective_calls import messages_of
from grader.judge.traffic.counting import assert_not_truncated
from grader.judge.traffic.neighbours import assert_neighbours_are_known
from grader.judge.traffic.volume import PICKLE_NUM_BYTES
from grader.model.finding import found
from grader.trace.call_formatting import at, name_of, place_of
from grader.trace.calls import Call, Trace


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
            raise ValueError(f"an edge {edge}: expected two of the ranks 0 to {num_ranks - 1}")
    assert_not_truncated(trace)
    assert_neighbours_are_known(trace)
    found_bytes = bytes_by_edge(trace)
    for (sender, receiver), bounds in expected.items():
        sent = [call for call in messages_of(trace, sender) if call.peer == receiver]
        low, high = bounds_of(bounds)
        headers = PICKLE_NUM_BYTES * sum(call.pickled for call in sent)
        if not low <= found_bytes[sender, receiver] <= high + headers:
            raise RuleViolation(
                found(
                    "rule.bytes_per_edge",
                    f"rank {sender} sends rank {receiver} "
                    f"{_account(found_bytes[sender, receiver], sent)}; "
                    f"expected {bounds_text(bounds)} bytes",
                    rank=sender,
                    peer=receiver,
                    num_bytes=found_bytes[sender, receiver],
                    places=[place_of(call) for call in sent[:1]],
                )
            )


def _account(num_bytes: int, sent: Sequence[Call]) -> str:
    if not sent:
        return "nothing"
    how = "by" if len(sent) == 1 else f"in {len(sent)} messages, the first by"
    return f"{num_bytes} bytes {how} {name_of(sent[0])}{at(sent[0])}"
