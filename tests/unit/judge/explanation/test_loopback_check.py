"""What the kernel counted between the ranks, against what their calls can need."""

from dataclasses import replace

import pytest

from grader.judge.explanation.bytes_carried import most_by_gloo, most_by_mpi, unexplained

from ..build import Run

LENGTH = 61706
GIVEN = 4 * LENGTH
MEASURED = {
    # Bytes of the loopback, by operation and number of ranks: torch 2.13, 61706 float32 on each.
    ("all_reduce", 2): 496724,
    ("all_reduce", 4): 1497788,
    ("all_reduce", 8): 3534280,
    ("broadcast", 4): 742984,
    ("reduce", 4): 935088,
    ("reduce", 8): 1985208,
    ("gather", 8): 1732884,
    ("all_gather", 2): 495264,
    ("all_gather", 8): 13986126,
    ("send", 2): 247384,
}


def traced(function, ranks, num_elements=LENGTH, times=1, error=0):
    """Return a trace in which all ranks call an operation, with so many elements of 4 bytes."""
    run = Run(ranks)
    fields = {"num_elements": num_elements, "num_bytes": 4 * num_elements}
    for _ in range(times):
        if function == "send":
            run.send(0, 1, function="send", **fields, error=error)
            run.recv(1, 0, function="recv", **fields, error=error)
        else:
            for rank in range(ranks):
                run.call(rank, function, **fields, error=error)
    return run.trace()


def allows_nothing(run):
    """Return whether the calls of a run of 4 ranks explain no byte."""
    return most_by_gloo(run.trace()) == most_by_gloo(Run(4).trace())


@pytest.mark.parametrize(("function", "ranks"), MEASURED)
def test_what_gloo_needs_is_allowed_and_little_more(function, ranks):
    """Each operation as it was measured: within what is allowed, which is close to it."""
    trace = traced(function, ranks)
    found, silent = MEASURED[function, ranks], most_by_gloo(traced(function, ranks, times=0))
    assert list(unexplained(trace, found, most_by_gloo(trace))) == []
    assert most_by_gloo(trace) - silent < 1.2 * found


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_a_second_exchange_is_seen(ranks):
    """Beside calls for show, of one element or of all of them, a hidden all_reduce is too much."""
    hidden = MEASURED["all_reduce", ranks]
    for num_elements, seen in ((1, 0), (LENGTH, hidden)):
        trace = traced("all_reduce", ranks, num_elements)
        (doubt,) = unexplained(trace, seen + hidden, most_by_gloo(trace))
        assert f"the kernel counted {seen + hidden} bytes between the ranks" in doubt.text


def test_small_calls_are_paid_by_their_messages():
    """A hundred all_reduces of one number were measured to need 488208 bytes on 8 ranks."""
    trace = traced("all_reduce", 8, 1, times=100)
    assert list(unexplained(trace, 488208, most_by_gloo(trace))) == []


@pytest.mark.parametrize("function", ["send", "gather", "all_reduce"])
def test_a_call_that_failed_pays_for_nothing(function):
    """Else whoever asks for what is refused at once could send as much in hiding."""
    failed, silent = traced(function, 4, error=1), traced(function, 4, times=0)
    assert most_by_gloo(failed) == most_by_gloo(silent) < most_by_gloo(traced(function, 4))


def test_a_message_that_nobody_receives_pays_for_nothing():
    """Gloo sends it when it is asked for; it is recorded at once, whatever its length."""
    given = {"num_elements": LENGTH, "num_bytes": GIVEN}
    for tag, communicator in ((1, 0), (0, 7)):
        run = Run(4)
        run.irecv(1, 0, tag, communicator=communicator, **given, function="irecv")
        run.isend(0, 1, 0, function="isend", **given)
        silent = Run(4)
        silent.irecv(1, 0, tag, communicator=communicator, function="irecv")
        assert most_by_gloo(run.trace()) == most_by_gloo(silent.trace())
    alone = Run(4)
    alone.isend(0, 1, function="isend", **given)
    assert allows_nothing(alone)


def test_a_message_pays_for_no_more_than_there_is_room_for():
    """A receive may have more room than comes, and a second send may find none."""
    short, long = {"num_elements": 1, "num_bytes": 4}, {"num_elements": LENGTH, "num_bytes": GIVEN}
    fitting, roomy = Run(4), Run(4)
    for run, room in ((fitting, short), (roomy, long)):
        run.isend(0, 1, function="isend", **short)
        run.isend(0, 1, function="isend", **long)
        run.irecv(1, 0, 0, function="irecv", **room)
    assert most_by_gloo(fitting.trace()) == most_by_gloo(roomy.trace())


@pytest.mark.parametrize("matched", [0, -3])
def test_whoever_receives_from_anybody_receives(matched):
    """Whose message it was is recorded when it is waited for; it pays once, and not for each."""
    given = {"num_elements": LENGTH, "num_bytes": GIVEN}
    run = Run(4)
    for sender in (0, 2, 3):
        run.isend(sender, 1, function="isend", **given)
    run.irecv(1, -1, 0, function="irecv", matched_source=matched, **given)
    assert most_by_gloo(run.trace()) == most_by_gloo(traced("send", 4))


@pytest.mark.parametrize("function", ["all_reduce", "broadcast", "all_gather", "gather"])
def test_a_collective_pays_when_all_have_called_it_and_for_what_fits_all(function):
    """One that a rank calls alone sends nothing; a broadcast of little may be into much memory."""
    given = {"num_elements": LENGTH, "num_bytes": GIVEN}
    run = Run(4)
    for rank in range(3):
        run.call(rank, function, **given)
    assert allows_nothing(run)
    run.call(3, function, num_elements=1, num_bytes=4)
    assert most_by_gloo(run.trace()) == most_by_gloo(traced(function, 4, num_elements=1))
    for rank in range(2):
        run.call(rank, function, communicator=5, communicator_size=2, **given)
    pair = Run(4)
    for rank in range(2):
        pair.call(rank, function, communicator=5, communicator_size=2, **given)
    both = most_by_gloo(pair.trace()) + most_by_gloo(traced(function, 4, num_elements=1))
    assert abs(most_by_gloo(run.trace()) + most_by_gloo(Run(4).trace()) - both) <= 1


def test_nothing_is_said_where_nothing_is_known():
    """Neither where nobody could count, nor where calls are missing."""
    trace = traced("all_reduce", 2)
    assert list(unexplained(trace, None, 0)) == []
    for change in ({"truncated": True}, {"attached": False}):
        lost = replace(trace, ranks=(replace(trace.ranks[0], **change), trace.ranks[1]))
        assert list(unexplained(lost, 1 << 40, 0)) == []


def test_mpi_sends_nothing_by_tcp_but_at_its_start():
    """The second numbers were measured, of a program that starts and ends MPI within its case."""
    for ranks, started in ((2, 382194), (3, 576056), (4, 802516)):
        trace = traced("Allreduce", ranks)
        assert 52 * ranks < most_by_mpi(trace, starts=False) < 64_000
        assert started < most_by_mpi(trace, starts=True) < 2 * started
