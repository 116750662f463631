"""Who talks to whom in a ring."""

from grader.judge.check_failures import RuleViolation
from grader.judge.counting import assert_not_truncated, messages_sent, sends_of
from grader.judge.wording import at, ranks_text
from grader.trace.calls import Call, Trace


def assert_one_neighbour(trace: Trace, *, may_be_silent: bool = False) -> None:
    """Assert that each rank sends to one neighbour only, all ranks in the same direction.

    The neighbours of rank r of n are (r + 1) mod n and (r - 1) mod n; of two ranks both are the
    same, and a single rank has none.
    may_be_silent: accept ranks that send nothing, as when there is nothing to send.
    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    num_ranks = len(trace.ranks)
    silent = [rank for rank, number in enumerate(messages_sent(trace)) if not number]
    first: tuple[int, int, Call] | None = None
    for rank in range(num_ranks):
        for call in sends_of(trace, rank):
            step = (call.peer - rank) % num_ranks
            if step not in (1, num_ranks - 1):
                raise RuleViolation(
                    f"rank {rank} sends to rank {call.peer}{at(call)}, which is not its "
                    f"neighbour; in a ring of {num_ranks} it talks to rank "
                    f"{(rank + 1) % num_ranks} only, or to rank {(rank - 1) % num_ranks} only"
                )
            first = first or (step, rank, call)
            if step != first[0]:
                here = f"to rank {call.peer}{at(call)}"
                raise RuleViolation(
                    f"rank {first[1]} sends to rank {first[2].peer}{at(first[2])}, "
                    f"{f'but rank {rank}' if rank != first[1] else 'and'} {here}; in a ring all "
                    "messages go to the same side, each rank has one neighbour to send to"
                )
    if num_ranks > 1 and silent and not may_be_silent:
        sends = "sends" if len(silent) == 1 else "send"
        raise RuleViolation(
            f"{ranks_text(silent)} {sends} nothing; in a ring every rank sends to one neighbour"
        )
    assert_not_truncated(trace)
