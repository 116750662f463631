"""Both sizes where a message is longer than its buffer, and which request it was."""

import pytest

from grader.judge.explanation.truncation import size_mismatch
from grader.trace.calls import ANY_SOURCE, ANY_TAG

from ..build import Run

TRUNCATE = 15


def fail(run: Run, rank: int, sequence: int, num_elements: int, item_num_bytes: int = 8) -> None:
    """Note that a receive was too small for its message."""
    num_bytes = num_elements * item_num_bytes
    run.change(rank, sequence, error=TRUNCATE, num_elements=num_elements, num_bytes=num_bytes)


def test_both_sizes_and_both_places_are_named():
    """A shorter buffer."""
    run = Run(2)
    run.send(0, 1, tag=3, num_elements=13)
    fail(run, 1, run.irecv(1, 0, tag=3), 10)
    assert size_mismatch(run.trace(), 1) == (
        "Irecv(source=0, tag=3) of rank 1 at ring.py:10 has a buffer of 80 bytes (10 elements of 8 "
        "bytes), and rank 0 sends it 104 bytes (13 elements of 8 bytes) at ring.py:10: make the "
        "buffer as long as the message"
    )


def test_a_buffer_of_another_dtype_is_told_as_that():
    """As many elements, and yet half of the bytes."""
    run = Run(2)
    run.isend(0, 1, tag=3, num_elements=13)
    fail(run, 1, run.irecv(1, 0, tag=3), 13, item_num_bytes=4)
    told = size_mismatch(run.trace(), 1)
    assert "52 bytes (13 elements of 4 bytes)" in told
    assert told.endswith("give both arrays the same dtype")


def test_of_several_requests_it_is_the_one_that_failed():
    """The message is what receives of the same source and tag have left for it."""
    run = Run(2)
    for num_elements, tag in ((1, 0), (2, 1), (3, 0), (4, 0)):
        run.isend(0, 1, tag=tag, num_elements=num_elements)
    run.recv(1, 0, tag=0)
    run.irecv(1, 0, tag=1)
    fail(run, 1, run.irecv(1, 0, tag=0), 2)
    told = size_mismatch(run.trace(), 1)
    assert "at ring.py:30 has a buffer of 16 bytes" in told
    assert "rank 0 sends it 24 bytes (3 elements of 8 bytes) at ring.py:30" in told


def test_a_receive_from_anybody_is_told_where_all_messages_are_as_long():
    """Whichever it was."""
    run = Run(3)
    run.isend(0, 2, num_elements=5)
    run.isend(1, 2, num_elements=5)
    fail(run, 2, run.irecv(2, ANY_SOURCE, ANY_TAG), 4)
    assert "sends it 40 bytes" in size_mismatch(run.trace(), 2)


def test_any_tag_of_one_sender_takes_its_oldest_message():
    """Messages of one sender do not overtake each other."""
    run = Run(2)
    for num_elements in (1, 6, 7):
        run.isend(0, 1, tag=num_elements, num_elements=num_elements)
    run.recv(1, 0, tag=1)
    fail(run, 1, run.irecv(1, 0, ANY_TAG), 4)
    assert "sends it 48 bytes" in size_mismatch(run.trace(), 1)


def test_an_exchange_that_fails_on_both_sides_is_told():
    """The send of the other one is a half of the call that has failed there."""
    run = Run(2)
    run.isend(0, 1, num_elements=13, function="Sendrecv", error=TRUNCATE)
    fail(run, 1, run.irecv(1, 0, ANY_TAG, function="Sendrecv"), 10)
    assert "rank 0 sends it 104 bytes" in size_mismatch(run.trace(), 1)


def test_of_a_collective_of_equal_sizes_no_wrong_size_is_told():
    """The count of a Gather is what a rank sends, not what the root has room for."""
    run = Run(2)
    for rank in range(2):
        run.call(rank, "Gather", peer=0, num_elements=7, num_bytes=56, error=TRUNCATE * (1 - rank))
    assert size_mismatch(run.trace(), 0) == (
        "in Gather(root=0) of rank 0 at ring.py:10 the arrays of the ranks differ in size"
    )


def test_what_is_not_certain_is_not_told():
    """Two senders, two lengths: which message it was nobody knows."""
    run = Run(3)
    run.isend(0, 2, num_elements=5)
    run.isend(1, 2, num_elements=6)
    fail(run, 2, run.irecv(2, ANY_SOURCE, ANY_TAG), 4)
    assert size_mismatch(run.trace(), 2) == (
        "Irecv(source=ANY_SOURCE, tag=ANY_TAG) of rank 2 at ring.py:10 has a buffer of 32 bytes (4 "
        "elements of 8 bytes): its message is longer"
    )


def test_a_pickle_that_is_too_long_for_irecv_is_told_as_that():
    """Without a buffer of its own mpi4py's irecv takes 32 KiB."""
    run = Run(2)
    run.isend(0, 1, num_elements=10**6, num_bytes=10**6, pickled=True)
    fail(run, 1, run.irecv(1, 0, 0), 32768, item_num_bytes=1)
    assert size_mismatch(run.trace(), 1).endswith(
        "without its own buffer, irecv accepts no more; use Irecv into an array"
    )


def test_of_collectives_with_sizes_of_their_own_none_is_blamed():
    """A root scatters more than a leaf receives: that the sizes differ says nothing."""
    for name in ("Scatter", "Iscatter", "Gatherv", "Alltoallw", "Reduce_scatter"):
        run = Run(2)
        run.call(0, name, num_elements=8, num_bytes=64)
        failed = run.call(1, name, num_elements=4, num_bytes=32)
        run.change(1, failed, error=TRUNCATE)
        assert size_mismatch(run.trace(), 1) == (
            f"in {name} of rank 1 at ring.py:10 the arrays of the ranks differ in size"
        )


def test_of_torch_the_call_that_never_came_back_is_meant():
    """Its process ends inside of it, and no error is recorded."""
    run = Run(2)
    run.send(1, 0, num_elements=4, function="send")
    run.enter_recv(0, 1, 0, function="recv", num_elements=2, num_bytes=16)
    assert "sends it 32 bytes" in size_mismatch(run.trace(), 0)


@pytest.mark.parametrize("rank", [0, 1, 7])
def test_without_such_a_call_nothing_is_told(rank):
    """Nor of a rank that does not exist."""
    run = Run(2)
    run.send(0, 1)
    run.enter_recv(1, 0)
    assert size_mismatch(run.trace(), rank) == ""
