"""What ranks give to one collective call is compared; what MPI lets differ is not."""

import pytest

from grader.judge.check_failures import WrongAnswer
from grader.judge.deadlock.deadlock_report import find_deadlock
from grader.judge.traffic.collective_differences import collective_difference
from grader.judge.traffic.fault_effects import FaultEffect, assert_messages_matter
from grader.model.report import MessageFault
from grader.trace.calls import ANY_TAG
from grader.trace.layout import OPERATIONS

from ..build import Run

TRUNCATE, ERR_COUNT = 15, 2


def gather(name: str, *given: tuple[int, int], **fields) -> Run:
    """Return a run in which each rank gives (elements, bytes) to one collective."""
    run = Run(len(given))
    for rank, (num_elements, num_bytes) in enumerate(given):
        run.call(rank, name, num_elements=num_elements, num_bytes=num_bytes, **fields)
    return run


def key_of(run: Run) -> str:
    """Return the key of what is found; empty for nothing."""
    told = collective_difference(run.trace())
    return told.key if told else ""


@pytest.mark.parametrize(
    "name",
    [
        *("Allreduce", "Iallreduce", "Reduce", "Bcast", "Ibcast", "Gather", "Scatter"),
        *("Allgather", "Alltoall", "Reduce_scatter_block", "Scan", "all_reduce", "broadcast"),
    ],
)
def test_other_sizes_are_named_with_both_lines(name):
    """Of calls in which all ranks say the same number."""
    run = gather(name, (10, 80), (10, 80), (12, 96))
    told = collective_difference(run.trace())
    assert told is not None
    assert told.key == "collective.other_size"
    assert told.text == (
        f"Rank 2 called {name} at ring.py:10 with 96 bytes (12 elements of 8 bytes), but rank 0 "
        "called it at ring.py:10 with 80 bytes (10 elements of 8 bytes)."
    )
    assert told.facts["ranks"] == (0, 2)
    assert told.places == ("ring.py:10",)


@pytest.mark.parametrize(
    "name",
    ["Gatherv", "Scatterv", "Allgatherv", "Alltoallv", "Alltoallw", "Reduce_scatter", "all_to_all"],
)
def test_sizes_that_may_differ_are_not_compared(name):
    """Each rank has its own."""
    assert not key_of(gather(name, (10, 80), (12, 96)))


def test_equal_signatures_in_other_datatypes_are_no_difference():
    """Ten numbers, or one element of a datatype that holds ten; as bytes, or as numbers."""
    for name in ("Bcast", "Gather", "Allreduce"):
        assert not key_of(gather(name, (10, 80), (1, 80)))
    assert not key_of(gather("Bcast", (10, 80), (80, 80)))


def test_an_array_in_place_is_compared_by_its_other_side():
    """The recorder gives the size of the buffer that holds; without one it gives none."""
    assert not key_of(gather("Gather", (10, 80), (10, 80)))
    assert not key_of(gather("Alltoall", (-1, -1), (10, 80)))


def test_numbers_of_another_type_are_named_in_reductions():
    """As many, but of half the bytes."""
    told = collective_difference(gather("Allreduce", (10, 80), (10, 40)).trace())
    assert told is not None
    assert told.key == "collective.other_type"
    assert "at ring.py:10 with elements of 4 bytes, but rank 0" in told.text


def test_another_root_is_named_before_sizes():
    """Sizes may differ because of it."""
    run = Run(2)
    for rank in range(2):
        run.call(rank, "Bcast", peer=rank, num_elements=rank, num_bytes=8 * rank)
    told = collective_difference(run.trace())
    assert told is not None
    assert told.key == "collective.other_root"
    assert told.text == (
        "Rank 1 called Bcast at ring.py:10 with root 1, but rank 0 called it at ring.py:10 "
        "with root 0."
    )


def test_roots_of_an_intercommunicator_are_no_ranks():
    """One is MPI.ROOT, the others of its group MPI.PROC_NULL; groups may give other sizes."""
    run = Run(2)
    for rank, peer in enumerate((-4, 0)):
        run.call(rank, "Intercomm_create")
        run.call(rank, "Bcast", peer=peer, num_elements=1, num_bytes=8)
        run.call(rank, "Allgather", num_elements=1 + rank, num_bytes=8 + 8 * rank)
    assert not key_of(run)


def test_calls_are_compared_in_their_order_on_each_communicator():
    """What one rank calls on another communicator in between is no call of this one."""
    run = Run(2)
    run.call(0, "Bcast", peer=0, num_elements=5, num_bytes=40, communicator=7, communicator_size=1)
    for rank in range(2):
        run.call(rank, "Bcast", peer=0, num_elements=3, num_bytes=24)
        run.call(rank, "Allreduce", num_elements=4, num_bytes=32)
    assert not key_of(run)


def test_a_call_that_failed_is_counted_unless_its_arguments_were_refused():
    """The calls after it fit each other, or do not, as for the other ranks."""
    for error, num_refused in ((TRUNCATE, 0), (ERR_COUNT, 1)):
        run = Run(2)
        for rank in range(2):
            for number in range(num_refused * (1 - rank)):
                run.call(rank, "Bcast", num_elements=9 + number, num_bytes=72, error=error)
            first = run.call(rank, "Bcast", num_elements=3, num_bytes=24)
            if error == TRUNCATE and rank == 0:
                run.change(rank, first, error=error)
            run.call(rank, "Bcast", num_elements=4, num_bytes=32)
        assert not key_of(run)


def test_a_trace_with_gaps_says_nothing():
    """Which calls belong together is not known."""
    run = gather("Bcast", (1, 8), (2, 16))
    run.state(1, truncated=True)
    assert not key_of(run)


def test_a_rank_that_waits_in_a_call_which_failed_elsewhere_hangs():
    """The other one has left it, with an error that nobody looked at."""
    run = Run(2)
    run.call(0, "Allreduce", num_elements=4, num_bytes=32, error=TRUNCATE)
    run.enter(1, "Allreduce", num_elements=4, num_bytes=32)
    stalled = find_deadlock(run.trace(), frozenset({0}))
    assert stalled is not None
    assert stalled[2].key == "deadlock.failed_collective"
    assert stalled[2].text == "Rank 1 waits in Allreduce, which failed on rank 0."


def test_ranks_that_wait_with_other_roots_are_told_the_roots():
    """Not that they made another call."""
    run = Run(2)
    for rank in range(2):
        run.enter(rank, "Reduce", peer=rank, num_elements=4, num_bytes=32)
    stalled = find_deadlock(run.trace())
    assert stalled is not None
    assert stalled[2].key == "collective.other_root"


def test_another_operation_is_named_where_both_are_mpis_own():
    """What a program has made itself has no number."""
    total, largest, own = OPERATIONS.index("SUM"), OPERATIONS.index("MAX"), ANY_TAG
    for tags, key in (
        ((total, total), ""),
        ((total, largest), "collective.other_op"),
        ((total, own), ""),
    ):
        run = Run(2)
        for rank, tag in enumerate(tags):
            run.call(rank, "Allreduce", num_elements=4, num_bytes=32, tag=tag)
        assert key_of(run) == key


def test_an_operation_that_ignores_a_message_is_no_doubt():
    """An altered message changes nothing where a rank takes the largest number."""
    run = Run(2)
    for rank, name in enumerate(("MAX", "SUM")):
        tag = OPERATIONS.index(name)
        run.call(rank, "Allreduce", num_elements=4, num_bytes=32, tag=tag)
    effect = FaultEffect(MessageFault(1, None), happened=True, influenced=frozenset())
    with pytest.raises(WrongAnswer, match=r"with op MPI\.SUM, but rank 0"):
        assert_messages_matter(run.trace(), [effect])
