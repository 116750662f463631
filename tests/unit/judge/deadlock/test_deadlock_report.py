"""Hangs are proven and explained; runs that may still go on are left alone."""

import pytest

from grader.trace.calls import ANY_SOURCE, ANY_TAG, NO_PEER

from ..build import Run, explain_deadlock


def explained(run, returned=(), **options):
    return explain_deadlock(run.trace(), frozenset(returned), **options)


# Blocking receives and sends ---------------------------------------------------------------


def test_everybody_receives_first():
    """The whole sentence: each rank's call, peer, tag and line, no send, and the cycle."""
    run = Run(3)
    for rank in range(3):
        run.enter_recv(rank, (rank - 1) % 3, 0)
    assert explained(run) == (
        "deadlock: rank 0 waits in Recv(source=2, tag=0) at ring.py:10; "
        "rank 1 waits in Recv(source=0, tag=0) at ring.py:10; "
        "rank 2 waits in Recv(source=1, tag=0) at ring.py:10; "
        "no send is pending; cycle 0 -> 2 -> 1 -> 0"
    )


def test_everybody_sends_first():
    """Standard sends that do not return wait for receives that come too late."""
    run = Run(2)
    run.enter_send(0, 1, 7)
    run.enter_send(1, 0, 7)
    assert explained(run) == (
        "deadlock: rank 0 waits in Send(dest=1, tag=7) at ring.py:10; "
        "rank 1 waits in Send(dest=0, tag=7) at ring.py:10; "
        "none of these sends has a matching receive; "
        "a send may block until its receive is posted; cycle 0 -> 1 -> 0"
    )


def test_a_synchronous_send_by_name_needs_no_hint():
    """Who writes Ssend knows that it waits."""
    run = Run(2)
    run.enter_send(0, 1, function="Ssend", synchronous=True)
    run.enter_recv(1, 0, 5)
    said = explained(run)
    assert "as here" not in said
    assert (
        "rank 0 sends rank 1 a message with tag 0 at ring.py:10, but rank 1 waits for tag 5" in said
    )


def test_a_message_on_its_way_is_no_deadlock():
    """A send that has returned, whose message nobody has taken, still serves a receive."""
    run = Run(2)
    run.send(0, 1, 3)
    run.enter_recv(0, 1)
    run.enter_recv(1, 0, 3)
    assert explained(run) is None


def test_a_matching_pair_that_both_sides_are_in_is_no_deadlock():
    """A long message takes its time."""
    run = Run(2)
    run.enter_send(0, 1, 3)
    run.enter_recv(1, ANY_SOURCE, ANY_TAG)
    assert explained(run) is None


def test_a_message_that_was_received_serves_nobody_else():
    """Each message goes to one receive."""
    run = Run(2)
    run.send(0, 1, 3)
    run.recv(1, 0, 3)
    run.enter_recv(1, 0, 3)
    run.enter_recv(0, 1)
    assert "no send is pending" in explained(run)


def test_two_messages_serve_two_receives():
    """Messages of one sender and tag are taken in order, none twice."""
    run = Run(2)
    run.send(0, 1, 3)
    run.send(0, 1, 3)
    run.recv(1, 0, 3)
    run.enter_recv(1, 0, 3)
    run.enter_recv(0, 1)
    assert explained(run) is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"tag": 8},
            "rank 1 sends rank 0 a message with tag 8 at ring.py:10, but rank 0 waits for tag 7",
        ),
        (
            {"communicator": 99},
            "rank 1 sends rank 0 a message at ring.py:10, but rank 0 receives on a different "
            "communicator",
        ),
    ],
)
def test_says_in_what_a_message_differs(fields, reason):
    """A message that is nearly the awaited one is named with the difference."""
    run = Run(2)
    run.send(1, 0, **{"tag": 7, **fields})
    run.enter_recv(1, 0)
    run.enter_recv(0, 1, 7)
    assert explained(run).endswith(f"{reason}; cycle 0 -> 1 -> 0")


def test_says_that_the_message_comes_from_somebody_else():
    """Sent to the right, awaited from the right."""
    run = Run(3)
    for rank in range(3):
        run.isend(rank, (rank + 1) % 3)
        run.enter_recv(rank, (rank + 1) % 3, 0)
    said = explained(run)
    assert (
        "rank 2 sends rank 0 a message at ring.py:10, but rank 0 waits for one from rank 1" in said
    )


def test_lists_pending_sends_that_go_elsewhere():
    """Sends that nobody waits for are named when receives hang."""
    run = Run(3)
    for tag in range(5):
        run.send(1, 2, tag)
    run.enter_recv(0, 1)
    run.enter_recv(1, 0)
    assert (
        "the pending sends are rank 1's Send(dest=2, tag=0) at ring.py:10, "
        "rank 1's Send(dest=2, tag=1) at ring.py:20, rank 1's Send(dest=2, tag=2) at ring.py:30, "
        "and 2 more"
    ) in explained(run, returned={2})


def test_a_receive_from_oneself():
    """A rank may wait for itself."""
    run = Run(1)
    run.enter_recv(0, 0, 4)
    assert explained(run) == (
        "deadlock: rank 0 waits in Recv(source=0, tag=4) at ring.py:10; no send is pending; "
        "cycle 0 -> 0"
    )


def test_communicators_are_kept_apart():
    """A message over one communicator serves no receive on another; over the same it does."""
    for communicator, is_stuck in ((5, False), (6, True)):
        run = Run(2, communicator=5)
        run.send(0, 1, communicator=communicator)
        run.enter_recv(0, 1)
        run.enter_recv(1, 0)
        assert (explained(run) is not None) == is_stuck


# Ranks that are not stuck ------------------------------------------------------------------


def test_a_rank_outside_mpi_is_alive():
    """One rank that computes may send anything."""
    run = Run(2)
    run.enter_recv(0, 1)
    run.send(1, 0, 9)
    run.recv(0, 1, 9)
    assert explained(run) is None


@pytest.mark.parametrize(
    "function", ["Isend", "Type_commit", "Abort", "Win_fence", "Bsend", "Init"]
)
def test_a_rank_in_a_call_that_waits_for_nobody_is_alive(function):
    """Calls that return by themselves, and those we cannot judge, are no hang."""
    run = Run(2)
    run.enter_recv(0, 1)
    run.enter(1, function)
    assert explained(run) is None


def test_a_call_that_was_left_is_no_hang():
    """The rank is on its way out of the call."""
    run = Run(2)
    run.enter_recv(0, 1)
    sequence = run.enter_recv(1, 0)
    run.change(1, sequence, left_ns=77)
    assert explained(run) is None


def test_nobody_waits_when_all_have_returned():
    """Nothing to explain."""
    run = Run(2)
    run.irecv(0, 1)
    assert explained(run, returned={0, 1}) is None
    assert explained(Run(0)) is None


@pytest.mark.parametrize("state", [{"truncated": True}, {"attached": False}])
def test_incomplete_evidence_proves_nothing(state):
    """A rank whose calls are not all known may have sent anything."""
    run = Run(2)
    run.enter_recv(0, 1)
    run.enter_recv(1, 0)
    assert explained(run) is not None
    run.state(1, **state)
    assert explained(run) is None


def test_null_processes_answer_at_once():
    """PROC_NULL never blocks."""
    run = Run(2)
    run.enter_recv(0, -2)
    run.enter_recv(1, 0)
    assert explained(run) is None


def test_a_buffered_send_never_waits():
    """Ibsend is complete when its buffer is copied."""
    run = Run(2)
    request = run.isend(0, 1, function="Ibsend")
    run.enter_wait(0, request)
    run.enter_recv(1, 0, 44)
    assert explained(run) is None


# Ranks that are gone -----------------------------------------------------------------------


def test_the_other_rank_has_returned():
    """Who has returned sends no more."""
    run = Run(4)
    for rank in (0, 1, 2):
        run.enter_recv(rank, 3, 0)
    assert explained(run, returned={3}).endswith(
        "; rank 3 has already returned; no send is pending"
    )


def test_the_last_words_of_a_rank_that_returned_count():
    """A message it sent before is still there."""
    run = Run(2)
    run.send(1, 0)
    run.enter_recv(0, 1)
    assert explained(run, returned={1}) is None


def test_an_unfinished_isend_of_a_rank_that_returned_may_arrive():
    """By MPI's progress rule its message has to come."""
    run = Run(2)
    run.isend(1, 0)
    run.enter_recv(0, 1)
    assert explained(run, returned={1}) is None


def test_a_receive_that_nobody_waits_for_takes_no_message():
    """The rank that posted it has returned and will not answer the send."""
    run = Run(2)
    run.irecv(1, 0, 0)
    run.enter_send(0, 1, 0, function="Ssend")
    assert explained(run, returned={1}) == (
        "deadlock: rank 0 waits in Ssend(dest=1, tag=0) at ring.py:10; rank 1 "
        "returned without waiting for its Irecv(source=0, tag=0) at ring.py:10"
    )


def test_where_mpi_goes_on_a_receive_that_nobody_waits_for_takes_its_message():
    """The rank that posted it has returned, and MPI inside of it has not; after Finalize it has."""
    run = Run(2)
    run.irecv(1, 0, 0)
    run.enter_send(0, 1, 0, function="Ssend")
    assert explained(run, returned={1}, makes_progress=True) is None
    run.state(1, finalised=True)
    assert "without waiting for its Irecv" in explained(run, returned={1}, makes_progress=True)


def test_where_mpi_goes_on_a_rank_that_returned_is_finished():
    """Nothing more comes of it, and it enters no collective."""
    run = Run(3)
    run.isend(2, 0, 5)
    run.enter_recv(0, 2, 6)
    run.enter(1, "Barrier")
    said = explained(run, returned={2}, makes_progress=True)
    assert "rank 2 has already returned" in said
    assert "rank 2 has returned without calling Barrier" in said


def test_a_rank_that_finalised_is_gone():
    """After Finalize nothing is sent."""
    run = Run(2)
    run.enter_recv(0, 1)
    run.state(1, finalised=True)
    assert "rank 1 has already called Finalize; no send is pending" in explained(run)


def test_garbage_in_returned_is_ignored():
    """Ranks that do not exist cannot have returned."""
    run = Run(1)
    run.enter_recv(0, 0)
    assert explained(run, returned={7, -1}) is not None


# Finalize ----------------------------------------------------------------------------------


def test_only_one_rank_finalizes():
    """Finalize waits for everybody."""
    run = Run(3)
    run.enter(0, "Finalize")
    said = explained(run, returned={1, 2})
    assert said == (
        "deadlock: rank 0 waits in Finalize at ring.py:10; "
        "ranks 1 and 2 have already returned without calling Finalize"
    )


def test_all_finalize():
    """When all have come, or have left it, they may leave."""
    run = Run(3)
    run.enter(0, "Finalize")
    run.enter(1, "Finalize")
    run.state(2, finalised=True)
    assert explained(run) is None


def test_one_rank_is_stuck_while_another_finalizes():
    """The cycle goes through Finalize and a receive."""
    run = Run(2)
    run.enter(0, "Finalize")
    run.enter_recv(1, 0)
    assert explained(run).endswith("no send is pending; cycle 0 -> 1 -> 0")


# Requests ----------------------------------------------------------------------------------


def test_a_waitall_needs_all_requests():
    """One request that cannot complete is enough, and it is named first."""
    run = Run(2)
    run.send(1, 0, 1)
    run.enter_recv(1, 0, 5)
    requests = [run.irecv(0, 1, tag) for tag in (1, 2, 3, 4)]
    run.enter_wait(0, *requests)
    assert (
        "rank 0 waits in Waitall at ring.py:50 for Irecv(source=1, tag=2) at ring.py:20 and "
        "Irecv(source=1, tag=3) at ring.py:30 and 2 more"
    ) in explained(run)


def test_a_waitall_whose_requests_all_match():
    """It goes on."""
    run = Run(2)
    for tag in (2, 1):
        run.send(1, 0, tag)
    run.enter_recv(1, 0)
    run.enter_wait(0, *[run.irecv(0, 1, tag) for tag in (1, 2)])
    assert explained(run) is None


@pytest.mark.parametrize("function", ["Waitany", "Waitsome"])
def test_a_waitany_needs_one_request(function):
    """One request that may complete is enough; without any it hangs."""
    for tag, is_stuck in ((2, False), (9, True)):
        run = Run(2)
        run.send(1, 0, tag)
        run.enter_recv(1, 0)
        run.enter_wait(0, *[run.irecv(0, 1, tag) for tag in (1, 2, 3)], function=function)
        assert (explained(run) is not None) == is_stuck
    assert (
        f"waits in {function} at ring.py:40 for Irecv(source=1, tag=1) at ring.py:10 or"
        in explained(run)
    )


def test_requests_that_are_complete_are_not_waited_for():
    """A Waitany over one complete and one hopeless request waits for the latter."""
    run = Run(2)
    done, hopeless = run.irecv(0, 1, 1), run.irecv(0, 1, 2)
    run.send(1, 0, 1)
    run.complete(0, done, 1, 1)
    run.enter_wait(0, done, hopeless, function="Waitany")
    run.enter_recv(1, 0)
    assert "for Irecv(source=1, tag=2) at ring.py:20;" in explained(run)


def test_a_wait_for_nothing_left_goes_on():
    """All its requests are complete."""
    run = Run(2)
    done = run.irecv(0, 1, 1)
    run.complete(0, done, 1, 1)
    run.enter_wait(0, done)
    run.enter_recv(1, 0)
    assert explained(run) is None


def test_an_isend_waited_for_before_the_receive_is_posted():
    """Blocking in disguise."""
    run = Run(2)
    for rank in range(2):
        run.enter_wait(rank, run.isend(rank, 1 - rank, 2, synchronous=True), function="Wait")
    assert explained(run).startswith(
        "deadlock: rank 0 waits in Wait at ring.py:20 for Isend(dest=1, tag=2) at ring.py:10;"
    )


def test_a_receive_is_named_before_a_send_that_may_be_buffered():
    """What surely hangs comes first, and nothing is said about buffering."""
    run = Run(2)
    for rank in range(2):
        run.enter_wait(rank, run.isend(rank, 1 - rank, 2), run.irecv(rank, 1 - rank, 3))
    said = explained(run)
    assert (
        "rank 0 waits in Waitall at ring.py:30 for Irecv(source=1, tag=3) at ring.py:20 and" in said
    )
    assert "may block" not in said
    assert (
        "rank 1 sends rank 0 a message with tag 2 at ring.py:10, but rank 0 waits for tag 3" in said
    )


def test_an_isend_whose_message_was_taken_completes():
    """The receive has it; the sender will notice."""
    run = Run(2)
    request = run.isend(0, 1)
    run.recv(1, 0)
    run.enter_wait(0, request)
    run.enter_recv(1, 0)
    assert explained(run) is None


def test_a_posted_receive_lets_the_send_complete():
    """Although its rank waits for something else."""
    run = Run(2)
    run.irecv(1, 0, 0)
    run.enter_recv(1, 0, 9)
    run.enter_wait(0, run.isend(0, 1, 0))
    assert explained(run) is None


def test_a_pair_that_nobody_waits_for_does_not_help():
    """A message that meets an Irecv frees no rank that waits for another one."""
    run = Run(2)
    run.send(1, 0, 5)
    run.irecv(0, 1, 5)
    run.enter_recv(0, 1, 6)
    run.enter_recv(1, 0, 6)
    assert "no send is pending" in explained(run)


def test_an_earlier_receive_takes_the_message():
    """A receive posted before takes what this one waits for."""
    run = Run(2)
    run.send(1, 0, 5)
    run.irecv(0, ANY_SOURCE, ANY_TAG)
    run.enter_recv(0, 1, 5)
    run.enter_recv(1, 0)
    assert explained(run) is not None


def test_an_unknown_request_may_complete():
    """It may have been made before the case began."""
    run = Run(2)
    hopeless = run.irecv(0, 1)
    run.enter_recv(1, 0)
    run.enter_wait(0, 1234567)
    assert explained(run) is None
    run.enter_wait(0, hopeless, 1234567, function="Waitany")
    assert explained(run) is None
    run.enter_wait(0, hopeless, 1234567, function="Waitall")
    assert explained(run) is not None


def test_a_cancelled_receive_completes():
    """Waiting for it returns."""
    run = Run(2)
    request = run.irecv(0, 1)
    run.call(0, "Cancel", waits_for=(request,))
    run.enter_wait(0, request)
    run.enter_recv(1, 0)
    assert explained(run) is None


def test_a_receive_that_was_cancelled_takes_no_message():
    """The next one gets it."""
    run = Run(2)
    run.irecv(0, 1, 5, cancelled=True)
    run.send(1, 0, 5)
    run.enter_recv(0, 1, 5)
    run.enter_recv(1, 0)
    assert explained(run) is None


def test_a_freed_receive_still_takes_a_message():
    """Freeing the request does not take the receive back."""
    run = Run(2)
    run.irecv(0, 1, 5, request_freed=True)
    run.send(1, 0, 5)
    run.enter_recv(0, 1, 5)
    run.enter_recv(1, 0)
    assert explained(run) is not None


def test_making_a_persistent_request_sends_nothing():
    """Only starting it does."""
    run = Run(2)
    run.send(1, 0, 5, function="Send_init", completed_ns=0)
    run.enter_recv(0, 1, 5)
    run.enter_recv(1, 0)
    assert explained(run) is not None
    run.isend(1, 0, 5, function="Start")
    assert explained(run) is None


# Wildcards ---------------------------------------------------------------------------------


def test_any_source_waits_for_any_message():
    """A message from anybody will do."""
    run = Run(3)
    run.enter_recv(0, ANY_SOURCE, 4)
    run.enter_recv(1, 0)
    run.enter_recv(2, 0)
    assert "Recv(source=ANY_SOURCE, tag=4)" in explained(run)
    run.send(2, 0, 4)
    run.enter_recv(2, 0)
    assert explained(run) is None


def test_one_wildcard_receive_too_many():
    """Two messages serve two of three receives, whoever is first."""
    run = Run(3)
    requests = [run.irecv(0, ANY_SOURCE, 4) for _ in range(3)]
    for rank in (1, 2):
        run.send(rank, 0, 4)
        run.enter_recv(rank, 0)
    run.enter_wait(0, *requests)
    assert "for Irecv(source=ANY_SOURCE, tag=4) at ring.py:30 and" in explained(run)


def test_a_wildcard_may_have_taken_either_message():
    """Which of two messages an Irecv(ANY_SOURCE) got is open, so the other may be awaited."""
    for source in (1, 2):
        run = Run(3)
        run.irecv(0, ANY_SOURCE, 4)
        for rank in (1, 2):
            run.send(rank, 0, 4)
            run.enter_recv(rank, 0)
        run.enter_recv(0, source, 4)
        assert explained(run) is None


def test_a_wildcard_that_is_complete_has_taken_a_known_message():
    """The second message is awaited from the wrong worker."""
    run = Run(3)
    for rank in (1, 2):
        run.send(rank, 0, 4)
        run.enter_recv(rank, 0)
    request = run.irecv(0, ANY_SOURCE, 4)
    run.complete(0, request, 1, 4)
    run.enter_recv(0, 1, 4)
    assert "rank 2 sends rank 0 a message at ring.py:10, but rank 0 waits for one from rank 1" in (
        explained(run)
    )


def test_a_later_receive_shows_what_an_earlier_one_must_have_taken():
    """Posted receives are served in order, those whose completion is not known yet included."""
    run = Run(2)
    requests = [run.irecv(0, 1, 1), run.irecv(0, 1, ANY_TAG), run.irecv(0, 1, 0)]
    for tag in (1, 1, 0, 1):
        run.send(1, 0, tag)
    run.recv(0, 1, 1)
    run.enter_wait(0, *requests)
    run.enter_recv(1, 0)
    assert explained(run) is None


def test_records_that_contradict_each_other_prove_nothing():
    """A receive that got a message which nobody has sent."""
    run = Run(2)
    run.irecv(0, 1, 5)
    run.recv(0, 1, 6)
    run.enter_recv(0, 1, 7)
    run.enter_recv(1, 0)
    assert explained(run) is None


# Exchanges and probes ----------------------------------------------------------------------


def test_an_exchange_needs_both_halves():
    """Sendrecv around a ring goes on; towards the wrong side it does not."""
    for step, is_stuck in ((1, False), (-1, True)):
        run = Run(3)
        for rank in range(3):
            run.enter_sendrecv(rank, (rank + 1) % 3, (rank - step) % 3)
        assert (explained(run) is not None) == is_stuck
    assert (
        "rank 0 waits in Sendrecv(dest=1, tag=0) and Sendrecv(source=1, tag=0) at ring.py:10"
        in explained(run)
    )


def test_a_probe_needs_a_message():
    """Probe sees messages that no posted receive takes."""
    run = Run(2)
    run.send(1, 0, 5)
    run.enter_probe(0, 1, 5)
    run.enter_recv(1, 0)
    assert explained(run) is None
    run = Run(2)
    run.send(1, 0, 5)
    run.irecv(0, 1, 5)
    run.enter_probe(0, 1, 5)
    run.enter_recv(1, 0)
    assert "rank 0 waits in Probe(source=1, tag=5) at ring.py:20" in explained(run)


def test_a_lower_case_receive_is_called_so():
    """The student wrote comm.recv, which calls Mprobe."""
    run = Run(2)
    for rank in range(2):
        run.enter_probe(rank, 1 - rank, function="Mprobe")
    assert "Mprobe(source=1, tag=ANY_TAG) (called by a lower-case recv)" in explained(run)


def test_a_matched_probe_takes_its_message():
    """What Mprobe found is Mrecv's alone, whether or not it has received it."""
    for has_received in (False, True):
        run = Run(2)
        run.send(1, 0, 5)
        run.call(0, "Mprobe", peer=1, tag=5, matched_source=1, matched_tag=5)
        if has_received:
            run.recv(0, 1, 5, function="Mrecv")
        run.enter_recv(0, 1, 5)
        run.enter_recv(1, 0)
        assert "no send is pending" in explained(run)
        run.send(1, 0, 5)
        run.enter_recv(1, 0)
        assert explained(run) is None


def test_an_ordinary_probe_takes_nothing():
    """The message it saw is still there."""
    run = Run(2)
    run.send(1, 0, 5)
    run.call(0, "Probe", peer=1, tag=5, matched_source=1, matched_tag=5)
    run.enter_recv(0, 1, 5)
    run.enter_recv(1, 0)
    assert explained(run) is None


def test_a_matched_receive_goes_on():
    """Its message is there already."""
    run = Run(2)
    run.enter_recv(0, 1, 5, function="Mrecv")
    run.enter_recv(1, 0)
    assert explained(run) is None


# Polling -----------------------------------------------------------------------------------


def test_a_test_that_never_succeeds():
    """A rank that only polls is stuck as well."""
    run = Run(2)
    run.poll(0, run.irecv(0, 1, 0))
    run.enter_recv(1, 0)
    assert explained(run).startswith(
        "deadlock: rank 0 polls with Test at ring.py:20 for Irecv(source=1, tag=0) at ring.py:10;"
    )


def test_a_test_that_may_succeed():
    """The message is on its way."""
    run = Run(2)
    run.poll(0, run.irecv(0, 1, 0))
    run.send(1, 0, 0)
    run.enter_recv(1, 0)
    assert explained(run) is None


def test_an_iprobe_that_never_succeeds():
    """Nobody sends what it looks for."""
    run = Run(2)
    run.poll(0, function="Iprobe", peer=ANY_SOURCE, tag=9)
    run.send(1, 0, 8)
    run.enter_recv(1, 0)
    said = explained(run)
    assert "rank 0 polls with Iprobe(source=ANY_SOURCE, tag=9) at ring.py:10" in said
    assert (
        "rank 1 sends rank 0 a message with tag 8 at ring.py:10, but rank 0 waits for tag 9" in said
    )


def test_any_poll_of_a_loop_may_succeed():
    """A loop over two polls goes on when one of them does; else both are named."""
    for tag, is_stuck in ((1, False), (3, True)):
        run = Run(2)
        run.send(1, 0, tag)
        run.enter_recv(1, 0)
        first, second = run.irecv(0, 1, 1), run.irecv(0, 1, 2)
        run.poll(0, first)
        run.poll(0, second)
        run.poll(0, function="Iprobe", peer=1, tag=7)
        assert (explained(run) is not None) == is_stuck
    assert (
        "polls with Test at ring.py:30 for Irecv(source=1, tag=1) at ring.py:10 and polls with "
        "Test at ring.py:40 for Irecv(source=1, tag=2) at ring.py:20 and polls with "
        "Iprobe(source=1, tag=7) at ring.py:50" in explained(run)
    )


def test_polls_before_the_last_success_are_over():
    """What was polled before something was found is not part of the present loop."""
    run = Run(2)
    run.send(1, 0, 1)
    run.enter_recv(1, 0)
    other, found, hopeless = (run.irecv(0, 1, tag) for tag in (1, 2, 3))
    run.poll(0, other)
    run.poll(0, found, failed_polls=0)
    run.complete(0, found, NO_PEER)
    run.poll(0, hopeless)
    assert explained(run) is not None


def test_a_test_of_no_request_is_passed_over():
    """It comes back at once and belongs to the loop."""
    run = Run(2)
    run.poll(0, run.irecv(0, 1, 1))
    run.poll(0, failed_polls=0)
    run.enter_recv(1, 0)
    assert explained(run) is not None


def test_one_poll_over_several_requests():
    """One line that tests request after request needs any of them; Testall needs all."""
    for function, is_stuck in (("Test", False), ("Testany", False), ("Testall", True)):
        run = Run(2)
        run.send(1, 0, 1)
        run.enter_recv(1, 0)
        run.poll(0, *[run.irecv(0, 1, tag) for tag in (1, 2)], function=function)
        assert (explained(run) is not None) == is_stuck


def test_everybody_polls():
    """Nobody is inside MPI, and yet nothing moves."""
    run = Run(2)
    for rank in range(2):
        run.poll(rank, run.irecv(rank, 1 - rank))
    assert "no send is pending; cycle 0 -> 1 -> 0" in explained(run)


# Collectives -------------------------------------------------------------------------------


def test_a_barrier_that_one_rank_does_not_enter():
    """It waits in a receive instead."""
    run = Run(3)
    run.enter(0, "Barrier")
    run.enter(1, "Barrier")
    run.enter_recv(2, 0, 5)
    assert explained(run) == (
        "deadlock: rank 0 waits in Barrier at ring.py:10; rank 1 waits in Barrier at ring.py:10; "
        "rank 2 waits in Recv(source=0, tag=5) at ring.py:10; rank 2 has not called Barrier; "
        "no send is pending; cycle 0 -> 2 -> 0"
    )


def test_a_barrier_that_other_ranks_have_returned_without():
    """Each rank that does not come is named with what it did instead."""
    run = Run(4)
    run.enter(0, "Barrier")
    run.enter_recv(3, 0)
    assert explained(run, returned={1, 2}).endswith(
        "; ranks 1 and 2 have returned without calling Barrier and rank 3 has not called Barrier; "
        "no send is pending; cycle 0 -> 3 -> 0"
    )


def test_a_barrier_that_all_have_entered():
    """They will leave it, those that have left it already included."""
    run = Run(3)
    run.enter(0, "Barrier")
    run.enter(1, "Barrier")
    run.call(2, "Barrier")
    run.enter_recv(2, 0)
    assert explained(run) is None


def test_different_collectives():
    """Each rank is in another function."""
    run = Run(3)
    run.enter(0, "Barrier")
    run.enter(1, "Bcast", peer=0)
    run.enter(2, "Barrier")
    said = explained(run)
    assert said.endswith("; ranks 0 and 2 are in Barrier, rank 1 in Bcast(root=0)")


def test_a_rank_that_has_gone_on_from_another_collective():
    """A small Bcast lets its root go on while the others are in a Barrier."""
    run = Run(2)
    run.call(0, "Bcast", peer=0)
    run.enter(0, "Barrier")
    run.enter(1, "Barrier")
    assert explained(run).endswith(
        "; rank 0 is in Bcast(root=0) at ring.py:10, which has returned, rank 1 in Barrier"
    )


def test_different_roots():
    """Everybody broadcasts from himself."""
    run = Run(2)
    for rank in range(2):
        run.enter(rank, "Bcast", peer=rank)
    assert "rank 0 is in Bcast(root=0), rank 1 in Bcast(root=1)" in explained(run)


def test_one_rank_makes_fewer_collective_calls():
    """Different numbers of batches: the counts say so."""
    run = Run(3)
    for rank, number in enumerate((2, 3, 3)):
        for _ in range(number):
            run.call(rank, "Allreduce")
    run.enter(1, "Allreduce")
    run.enter(2, "Allreduce")
    assert explained(run, returned={0}).endswith(
        "; this Allreduce is collective call 4 on its communicator, but rank 0 has returned after 2"
    )


def test_a_non_blocking_collective():
    """A Wait for an Iallreduce needs all ranks; the blocking form does not match it."""
    for function, is_stuck in (("Iallreduce", False), ("Allreduce", True), (None, True)):
        run = Run(2)
        run.enter_wait(0, run.call(0, "Iallreduce", creates_request=True), function="Wait")
        if function:
            run.call(1, function)
        run.enter_recv(1, 0)
        assert (explained(run) is not None) == is_stuck


def test_collectives_on_a_part_of_the_ranks():
    """Only members of the communicator count; who has never used it is not known."""
    run = Run(4)
    for rank in (0, 2):
        run.call(rank, "Barrier", communicator=7, communicator_size=2)
    run.enter(0, "Barrier", communicator=7, communicator_size=2)
    run.enter_recv(2, 0)
    said = explained(run, returned={1, 3})
    assert "2 on its communicator, but rank 2 has made only 1" in said
    assert "rank 1 " not in said
    run.enter(2, "Barrier", communicator=7, communicator_size=2)
    assert explained(run, returned={1, 3}) is None

    run = Run(4)
    for rank in (0, 1):
        run.enter(rank, "Barrier", communicator=7, communicator_size=3)
    for rank in (2, 3):
        run.enter_recv(rank, 0)
    assert "only 2 of the 3 ranks of the communicator called Barrier" in explained(run)


def test_making_a_communicator_is_collective():
    """Split by one rank only."""
    run = Run(2)
    run.enter(0, "Comm_split")
    run.enter_recv(1, 0)
    assert "rank 1 has not called Comm_split" in explained(run)


# Wording -----------------------------------------------------------------------------------


def test_many_ranks_at_the_same_place_are_summed_up():
    """Sixteen ranks, one sentence that can be read."""
    run = Run(16)
    for rank in range(16):
        run.enter_recv(rank, (rank - 1) % 16, 0)
    assert explained(run) == (
        "deadlock: rank 0 waits in Recv(source=15, tag=0) at ring.py:10 (ranks 1-15 likewise); "
        "no send is pending; cycle 0 -> 15 -> 14 -> 13 -> ... -> 1 -> 0"
    )


def test_many_ranks_at_different_places():
    """At most six places are named."""
    run = Run(9)
    for rank in range(9):
        run.enter_recv(rank, (rank + 1) % 9, 0, line=rank)
    said = explained(run)
    assert "rank 5 waits in Recv(source=6, tag=0) at ring.py:5" in said
    assert "ranks 6, 7, and 8 wait elsewhere" in said


def test_an_unknown_line_is_left_out():
    """No file, no place."""
    run = Run(1)
    run.enter_recv(0, 0, file="")
    assert "waits in Recv(source=0, tag=ANY_TAG); no send" in explained(run)


def test_hostile_names_are_made_printable():
    """File names come out of the rank's memory."""
    run = Run(1)
    run.enter_recv(0, 0, file="/x/a\nb\x1b[31m.py" + "y" * 500)
    said = explained(run)
    assert said.isprintable()
    assert len(said) < 250


def test_the_sentence_is_always_the_same():
    """The order in which things are found does not show."""
    run = Run(5)
    for rank in range(5):
        run.isend(rank, (rank + 2) % 5, rank)
        run.enter_recv(rank, (rank + 2) % 5, rank)
    assert len({explained(run) for _ in range(5)}) == 1
