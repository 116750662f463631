"""Words on messages that were used before they had arrived: only where the trace shows it."""

import pytest

from grader.judge.traffic.message_order import arrival_text

from ..build import Run


def ring_step(run: Run, rank: int, *, wait_now: bool) -> int:
    """Let a rank of three receive from one side and send to the other; return the receive."""
    received = run.irecv(rank, (rank - 1) % 3, file="/x/ring.py")
    sent = run.isend(rank, (rank + 1) % 3, file="/x/ring.py")
    run.complete(rank, sent)
    if wait_now:
        run.complete(rank, received, (rank - 1) % 3, 0)
        run.wait(rank, received, sent)
    return received


def ring(*, wait_now: bool) -> Run:
    run = Run(3)
    for rank in range(3):
        received = [ring_step(run, rank, wait_now=wait_now) for _ in range(4)]
        if not wait_now:
            for each in received:
                run.complete(rank, each, (rank - 1) % 3, 0)
            run.wait(rank, *received)
    return run


def test_a_ring_that_waits_before_it_passes_on_is_not_blamed() -> None:
    assert arrival_text(ring(wait_now=True).trace(), 0) == ""


def test_a_ring_that_passes_on_what_has_not_arrived_is_told() -> None:
    """The rank that is asked about first, if it does so."""
    assert arrival_text(ring(wait_now=False).trace(), 1) == (
        "Likely: rank 1 reads too early. It waits for its Irecv at ring.py:10 only after the "
        "next Isend at ring.py:40, which passes on what it receives"
    )


@pytest.mark.parametrize("asked", [0, 1])
def test_a_receive_that_is_never_waited_for_is_told(asked: int) -> None:
    """Of another rank where the one that is asked about has none."""
    run = Run(2)
    run.irecv(1, 0, file="/x/naive.py")
    run.isend(0, 1)
    assert arrival_text(run.trace(), asked) == (
        "Likely: rank 1 reads what its Irecv at naive.py:10 receives without waiting for it. "
        "The data is there only after the wait"
    )


def test_of_messages_that_all_arrived_only_a_result_without_them_tells() -> None:
    run = Run(4)
    received = run.irecv(0, 1, file="/x/naive.py")
    run.complete(0, received, 1, 0)
    run.wait(0, received)
    assert arrival_text(run.trace(), 0) == ""
    assert arrival_text(run.trace(), 0, uses_nothing=True) == (
        "Likely: recv is read before the wait for its Irecv at naive.py:10. The data is there "
        "only after that wait"
    )
    assert arrival_text(Run(4).trace(), 0, uses_nothing=True) == "", "nothing was received"
