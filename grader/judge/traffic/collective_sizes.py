"""How much a rank gives to a collective call."""

from collections.abc import Collection

from grader.judge.check_failures import NotProven, RuleViolation
from grader.judge.traffic.bounds import Bounds, bounds_of, bounds_text
from grader.judge.traffic.collective_calls import CollectiveCall, collective_calls
from grader.judge.traffic.counting import assert_not_truncated
from grader.judge.traffic.volume import PICKLE_NUM_BYTES
from grader.model.finding import found
from grader.trace.call_formatting import at, name_of, place_of
from grader.trace.calls import Trace


def assert_collective_size(
    trace: Trace, num_elements: Bounds, item_num_bytes: int, *, names: Collection[str] = ()
) -> None:
    """Assert how much each rank passes to each collective call: a number to a sum, not a vector.

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
        raise ValueError(f"elements of {item_num_bytes} bytes: expected 1 or more")
    low, high = (each * item_num_bytes for each in bounds_of(num_elements))
    assert_not_truncated(trace)
    for rank in range(len(trace.ranks)):
        for each in collective_calls(trace, rank):
            if names and each.function not in names:
                continue
            call = each.call
            if call.num_bytes < 0:
                raise NotProven(
                    found(
                        "evidence.unknown_size",
                        f"the record does not say how much rank {rank} passed to "
                        f"{name_of(call)}{at(call)}; your instructor reviews this part",
                        rank=rank,
                        place=place_of(call),
                    )
                )
            headers = PICKLE_NUM_BYTES if each.is_pickled else 0
            if not low <= call.num_bytes <= high + headers:
                raise RuleViolation(
                    found(
                        "rule.collective_size",
                        f"rank {rank} passed {_size(each, item_num_bytes)} to "
                        f"{name_of(call)}{at(call)}; expected {_expected(num_elements)} of "
                        f"{item_num_bytes} bytes in each call",
                        rank=rank,
                        num_bytes=call.num_bytes,
                        place=place_of(call),
                    )
                )


def _size(each: CollectiveCall, item_num_bytes: int) -> str:
    num_bytes = each.call.num_bytes
    if each.is_pickled:
        return f"a pickle of {num_bytes} bytes"
    number, rest = divmod(num_bytes, item_num_bytes)
    if rest:
        return f"{num_bytes} bytes"
    return f"{number} element{'' if number == 1 else 's'} ({num_bytes} bytes)"


def _expected(num_elements: Bounds) -> str:
    plural = "" if bounds_of(num_elements) == (1, 1) else "s"
    return f"{bounds_text(num_elements)} element{plural}"
