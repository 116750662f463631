"""What the interposer records of programs that run to their end."""

import pytest

from grader.judge.traffic.collective_calls import reduction_communicators
from grader.trace.calls import ANY_SOURCE, ANY_TAG, NO_PEER, PROC_NULL

from .launch import named

HEAD = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
"""


def test_a_message_is_recorded_on_both_sides(launch):
    """Peer, tag, element and byte counts, times, file and line of a send and its receive."""
    program = (
        HEAD
        + """
numbers = np.arange(6, dtype="f4")
if rank == 0:
    comm.Send(numbers[:5], dest=1, tag=7)
else:
    comm.Recv(numbers, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
"""
    )
    with launch(program, 2) as run:
        sender, receiver = run.finish()
        (send,) = named(sender, "Send")
        assert (send.peer, send.tag, send.num_elements, send.num_bytes) == (1, 7, 5, 20)
        assert (send.communicator, send.communicator_size) == (0, 2)
        assert send.is_send
        assert not send.is_receive | send.creates_request | send.synchronous | send.pickled
        assert 0 < send.entered_ns <= send.completed_ns <= send.left_ns
        assert (send.file, send.line) == (str(run.program), run.line_of("comm.Send"))
        assert (send.error, send.phase, send.waits_for) == (0, 0, ())
        (receive,) = named(receiver, "Recv")
        assert (receive.peer, receive.tag) == (ANY_SOURCE, ANY_TAG)
        assert (receive.num_elements, receive.num_bytes) == (6, 24)
        assert receive.is_receive
        assert (receive.matched_source, receive.matched_tag) == (0, 7)
        assert receive.received_num_bytes == 20
        assert receive.line == run.line_of("comm.Recv")


def test_calls_of_one_line_are_told_apart_by_their_place(launch):
    """A loop makes its call at one place; another call of the same line, or function, has its own.

    Also where two functions on one line have the same instructions.
    """
    program = (
        HEAD
        + """
one, other = lambda: comm.Barrier(), lambda: comm.Barrier()
one(), one(), other()
for _ in range(2): comm.Barrier(); comm.Barrier()
"""
    )
    with launch(program, 1) as run:
        (trace,) = run.finish()
        places = [call.place for call in named(trace, "Barrier")]
        assert 0 not in places
        assert [places.index(place) for place in places] == [0, 0, 2, 3, 4, 3, 4]


@pytest.mark.parametrize(
    "reduction", ["allreduce(data)", "reduce(data, root=2)", "scan(data)", "exscan(data)"]
)
def test_what_reductions_of_mpi4py_send_is_known_as_theirs(reduction, launch):
    """Also after the first, from another line, and over a part of all ranks; copies by hand not."""
    program = (
        HEAD
        + f"""
data = list(range(1000))
comm.{reduction}
comm.{reduction}
if rank < 3: comm.Create_group(comm.group.Incl([0, 1, 2])).{reduction}
for own in [comm.Dup()]: own.sendrecv(data, (rank + 1) % size, source=(rank - 1) % size)
"""
    )
    with launch(program, 4) as run:
        for trace in run.finish():
            copies = reduction_communicators(trace.calls)
            sends = [call for call in trace.calls if call.is_send]
            assert sends
            by_hand = [call for call in sends if call.communicator not in copies]
            assert [call.function for call in by_hand] == ["Isend"]
            assert len(copies) == (2 if trace.rank < 3 else 1)


def test_a_run_is_introduced_and_finished(launch):
    """Rank, attachment and end are told; sequences count from 0; the last call is Finalize."""
    with launch("from mpi4py import MPI", 2) as run:
        for rank, trace in enumerate(run.finish()):
            assert (trace.rank, trace.attached, trace.initialised) == (rank, True, True)
            assert trace.finalised
            assert not trace.truncated
            assert (trace.inside, trace.polling) == (-1, False)
            assert [call.function for call in trace.calls] == ["Init_thread", "Finalize"]
            assert [call.sequence for call in trace.calls] == [0, 1]
            assert trace.progress == 2
            # mpi4py finalises when the interpreter is gone: there is no line any more.
            assert trace.calls[1].line == 0
            assert run.memories[rank].snapshot().pid == run.pids[rank]


def test_init_and_finalize_called_by_the_program_have_lines(launch):
    """A student who calls both is told where."""
    program = """
    import mpi4py
    mpi4py.rc.initialize = False
    from mpi4py import MPI
    MPI.Init()
    MPI.Finalize()
    """
    with launch(program, 1) as run:
        (trace,) = run.finish()
        assert [(call.function, call.line) for call in trace.calls] == [
            ("Init", run.line_of("Init()")),
            ("Finalize", run.line_of("Finalize()")),
        ]


def test_non_blocking_calls_complete_when_they_are_waited_for(launch):
    """A wait names the calls it waits on; those learn when they were complete and from whom."""
    program = (
        HEAD
        + """
there, back = np.zeros(3), np.zeros(8)
receive = comm.Irecv(back, source=MPI.ANY_SOURCE, tag=4)
send = comm.Isend(there, dest=1 - rank, tag=4)
MPI.Request.Waitall([receive, send])
"""
    )
    with launch(program, 2) as run:
        for rank, trace in enumerate(run.finish()):
            _, receive, send, wait, _ = trace.calls
            assert (receive.function, send.function, wait.function) == ("Irecv", "Isend", "Waitall")
            assert wait.waits_for == (receive.sequence, send.sequence)
            assert receive.creates_request
            assert send.creates_request
            assert receive.left_ns <= wait.entered_ns <= receive.completed_ns <= wait.left_ns
            assert wait.entered_ns <= send.completed_ns
            assert (receive.matched_source, receive.matched_tag) == (1 - rank, 4)
            assert receive.received_num_bytes == 24
            assert wait.completed_ns == 0
            assert wait.peer == NO_PEER


def test_waitany_waitsome_and_tests_complete_only_what_they_found(launch):
    """Of several requests exactly the finished ones are marked; the lines tell which."""
    program = (
        HEAD
        + """
data = [np.zeros(1) for _ in range(5)]
if rank == 0:
    requests = [comm.Irecv(data[i], source=1, tag=i) for i in range(5)]
    comm.send(None, dest=1)
    assert MPI.Request.Waitany(requests) == 3
    judge.send(b"."), judge.recv(1)
    comm.send(None, dest=1)
    comm.recv(source=1, tag=99)
    assert MPI.Request.Waitsome(requests) == [1]
    index, found = MPI.Request.Testany(requests)
    assert not found
    assert MPI.Request.Testsome(requests) == []
    comm.send(None, dest=1)
    comm.recv(source=1, tag=99)
    assert MPI.Request.Testall(requests)
    assert MPI.Request.Testall(requests)
else:
    for tags in ([3], [1], [0, 2, 4]):
        comm.recv(source=0)
        for tag in tags:
            comm.Send(data[0], dest=0, tag=tag)
        if tags != [3]:
            comm.send(None, dest=0, tag=99)
"""
    )
    with launch(program, 2) as run:
        run.hear(0)
        half_way = run.memories[0].read()
        assert [bool(call.completed_ns) for call in named(half_way, "Irecv")] == [
            *(False, False, False, True, False)
        ]
        run.say(0)
        trace, _ = run.finish()
        posted = [call.sequence for call in named(trace, "Irecv")]
        assert [call.matched_tag for call in named(trace, "Irecv")] == [0, 1, 2, 3, 4]
        (any_one,) = named(trace, "Waitany")
        assert list(any_one.waits_for) == posted
        (some,) = named(trace, "Waitsome")
        assert set(some.waits_for) == set(posted) - {posted[3]}
        (nothing_found,) = named(trace, "Testany")
        assert nothing_found.failed_polls == 1
        assert set(nothing_found.waits_for) == {posted[0], posted[2], posted[4]}
        found, vacuous = named(trace, "Testall")
        assert set(found.waits_for) == {posted[0], posted[2], posted[4]}
        assert (found.failed_polls, vacuous.failed_polls, vacuous.waits_for) == (0, 0, ())
        assert trace.num_failed_polls == 2


def test_requests_with_equal_handles_are_told_apart(launch):
    """MPI gives all small sends that went out at once one handle; the forgotten one is found."""
    program = (
        HEAD
        + """
data = np.zeros(1)
forgotten = comm.Isend(data, dest=1 - rank)
waited = comm.Isend(data, dest=1 - rank)
waited.Wait()
for _ in range(2): comm.Recv(data, source=1 - rank)
"""
    )
    with launch(program, 2) as run:
        for trace in run.finish():
            completed = {call.line for call in named(trace, "Isend") if call.completed_ns}
            assert completed == {run.line_of("waited = ")}


def test_requests_that_are_freed_cancelled_or_forgotten(launch):
    """None of the three ever completes, and each says why."""
    program = (
        HEAD
        + """
data = np.zeros(1)
comm.Irecv(data, source=0, tag=1).Free()
request = comm.Irecv(data, source=0, tag=2)
request.Cancel()
request.Wait()
forgotten = comm.Irecv(data, source=0, tag=3)
comm.Send(data, dest=0, tag=1)
"""
    )
    with launch(program, 1) as run:
        (trace,) = run.finish()
        freed, cancelled, forgotten = named(trace, "Irecv")
        assert (freed.request_freed, freed.cancelled) == (True, False)
        assert (cancelled.request_freed, cancelled.cancelled) == (False, True)
        assert (forgotten.request_freed, forgotten.cancelled) == (False, False)
        assert not any(call.completed_ns for call in (freed, cancelled, forgotten))
        assert named(trace, "Request_free")[0].waits_for == (freed.sequence,)
        assert named(trace, "Cancel")[0].waits_for == (cancelled.sequence,)


def test_each_start_of_a_persistent_request_is_a_call(launch):
    """Making the request sends nothing; Start and Startall do, every time anew."""
    program = (
        HEAD
        + """
out, back = np.zeros(2), np.zeros(2)
send = comm.Send_init(out, dest=1 - rank, tag=5)
receive = comm.Recv_init(back, source=1 - rank, tag=5)
for _ in range(2):
    MPI.Prequest.Startall([receive, send])
    MPI.Request.Waitall([receive, send])
receive.Start()
send.Start()
receive.Wait(), send.Wait()
send.Wait()
send.Free(), receive.Free()
"""
    )
    with launch(program, 2) as run:
        for rank, trace in enumerate(run.finish()):
            made = named(trace, "Send_init", "Recv_init")
            assert [(call.peer, call.tag, call.num_bytes) for call in made] == [
                (1 - rank, 5, 16)
            ] * 2
            assert not any(c.is_send | c.is_receive | c.creates_request for c in made)
            started = named(trace, "Startall", "Start")
            assert [(call.function, call.is_receive) for call in started] == [
                *(("Startall", True), ("Startall", False)) * 2,
                *(("Start", True), ("Start", False)),
            ]
            for call in started:
                assert call.is_send != call.is_receive
                assert call.creates_request
                assert call.completed_ns > 0
                assert (call.peer, call.tag, call.num_bytes) == (1 - rank, 5, 16)
            last = named(trace, "Wait")[-1]
            assert last.waits_for == ()
            assert not any(call.request_freed for call in trace.calls)


def test_probes_and_matched_receives(launch):
    """A probe tells what it found; the receive of a matched message knows from whom it is."""
    program = (
        HEAD
        + """
data = np.zeros(4)
if rank == 0:
    for tag in range(4):
        comm.Send(data, dest=1, tag=tag)
    comm.Send(data[:0], dest=1, tag=9)
else:
    status = MPI.Status()
    comm.Probe(source=MPI.ANY_SOURCE, tag=9, status=status)
    assert (status.source, status.tag) == (0, 9)
    assert comm.Iprobe(source=0, tag=0)
    comm.Recv(data, source=0, tag=0)
    comm.Mprobe(source=MPI.ANY_SOURCE, tag=1).Recv(data)
    comm.Improbe(tag=2).Irecv(data).Wait()
    assert comm.Improbe(tag=2) is None
"""
    )
    with launch(program, 2) as run:
        _, trace = run.finish()
        probe, iprobe, mprobe, improbe, empty = named(trace, "Probe", "Iprobe", "Mprobe", "Improbe")
        assert (probe.matched_source, probe.matched_tag, probe.received_num_bytes) == (0, 9, 0)
        assert (iprobe.peer, iprobe.matched_tag, iprobe.received_num_bytes) == (0, 0, 32)
        assert (mprobe.peer, mprobe.matched_source, mprobe.matched_tag) == (ANY_SOURCE, 0, 1)
        assert (improbe.matched_tag, improbe.failed_polls) == (2, 0)
        assert (empty.matched_source, empty.failed_polls, empty.left_ns > 0) == (NO_PEER, 1, True)
        assert not any(c.is_receive for c in (probe, iprobe, mprobe, improbe))
        (mrecv,) = named(trace, "Mrecv")
        (imrecv,) = named(trace, "Imrecv")
        assert (mrecv.peer, mrecv.tag, mrecv.is_receive) == (0, 1, True)
        assert (imrecv.peer, imrecv.tag, imrecv.creates_request) == (0, 2, True)
        assert (imrecv.communicator, imrecv.received_num_bytes) == (0, 32)
        assert imrecv.completed_ns > 0


def test_empty_polls_of_one_place_are_one_call(launch):
    """However often a loop polls in vain, each place of it is one record with a count."""
    program = (
        HEAD
        + """
data = np.zeros(1)
if rank == 0:
    judge.recv(1)
    comm.Send(data, dest=1, tag=0)
else:
    request = comm.Irecv(data, source=0)
    other = comm.Irecv(data, source=0, tag=77)
    empty = 0
    while not request.Test():
        other.Test()
        comm.Iprobe(source=0, tag=5)
        comm.Get_rank()
        empty += 3
        if empty == 3000:
            judge.send(b".")
    assert 3000 <= empty < 2 ** 31
    done = comm.Irecv(data, source=0)
    comm.Irecv(data, source=0)
"""
    )
    with launch(program, 2) as run:
        run.hear(1)
        before = run.memories[1].snapshot()
        run.until(lambda ranks: ranks[1].num_failed_polls > before.num_failed_polls)
        after = run.memories[1].snapshot()
        assert after.polling
        assert (after.inside, after.progress) == (-1, before.progress)
        assert after.head == before.head
        run.say(0)
        _, trace = run.finish()
        polls = named(trace, "Test", "Iprobe")
        assert [(call.function, call.line) for call in polls] == [
            ("Test", run.line_of("while not")),
            ("Test", run.line_of("other.Test()")),
            ("Iprobe", run.line_of("comm.Iprobe")),
            ("Test", run.line_of("while not")),
        ]
        assert [call.failed_polls >= 1000 for call in polls] == [True, True, True, False]
        assert sum(call.failed_polls for call in polls) == trace.num_failed_polls
        request, other = named(trace, "Irecv")[:2]
        assert polls[0].waits_for == (request.sequence,)
        assert polls[1].waits_for == (other.sequence,)
        assert polls[3].failed_polls == 0
        assert request.completed_ns > 0
        assert not trace.polling


def test_one_line_that_polls_many_requests_names_them_all(launch):
    """A loop over requests at one line is one poll, which waits for all of them."""
    program = (
        HEAD
        + """
data = np.zeros(1)
requests = [comm.Irecv(data, source=0, tag=tag) for tag in range(5)]
for _ in range(3):
    for request in requests:
        assert not request.Test()
"""
    )
    with launch(program, 1) as run:
        (trace,) = run.finish()
        (poll,) = named(trace, "Test")
        assert poll.failed_polls == 15
        assert poll.waits_for == tuple(call.sequence for call in named(trace, "Irecv"))


def test_sendrecv_is_two_calls_that_wait_for_each_other(launch):
    """A send half and a receive half, whether blocking, replacing or non-blocking."""
    program = (
        HEAD
        + """
out, back = np.full(2, float(rank)), np.zeros(3)
comm.Sendrecv(out, dest=1 - rank, sendtag=1, recvbuf=back, source=MPI.ANY_SOURCE, recvtag=1)
assert back[0] == 1 - rank
comm.Sendrecv_replace(out, dest=1 - rank, source=1 - rank)
assert out[0] == 1 - rank
comm.Isendrecv(out, dest=1 - rank, recvbuf=back, source=1 - rank).Wait()
assert back[0] == rank
comm.Isendrecv_replace(out, dest=1 - rank, source=1 - rank).Wait()
assert out[0] == rank
"""
    )
    for synchronous in (False, True):
        with launch(program, 2, synchronous_sends=synchronous) as run:
            for rank, trace in enumerate(run.finish()):
                for function in (
                    *("Sendrecv", "Sendrecv_replace", "Isendrecv", "Isendrecv_replace"),
                ):
                    send, receive = named(trace, function)
                    both = (send.sequence, receive.sequence)
                    assert send.is_send
                    assert receive.is_receive
                    assert (send.peer, send.num_bytes) == (1 - rank, 16)
                    assert (receive.matched_source, receive.received_num_bytes) == (1 - rank, 16)
                    assert send.waits_for == receive.waits_for == both
                    assert send.completed_ns > 0
                    assert receive.completed_ns > 0
                    assert receive.left_ns > 0
                    blocking = function.startswith("S")
                    assert send.creates_request == (not blocking)
                    assert send.synchronous == (synchronous and blocking)
                for wait in named(trace, "Wait"):
                    assert len(wait.waits_for) == 2


def test_collectives_tell_root_size_and_completion(launch):
    """Roots are backend ranks; counts come from the side that means something on this rank."""
    program = (
        HEAD
        + """
backwards = comm.Split(0, key=-rank)
one, all = np.zeros(2), np.zeros(2 * size)
backwards.Bcast(one, root=0)
comm.Allreduce(MPI.IN_PLACE, one)
comm.Allgather(MPI.IN_PLACE, all)
comm.Scatter(all if rank == 1 else None, one, root=1)
comm.Gather(one, all if rank == 1 else None, root=1)
comm.Iallreduce(one, one.copy()).Wait()
comm.Ibarrier()
comm.Barrier()
"""
    )
    with launch(program, 3) as run:
        traces = run.finish()
        for trace in traces:
            (bcast,) = named(trace, "Bcast")
            assert (bcast.peer, bcast.num_elements, bcast.num_bytes) == (2, 2, 16)
            assert bcast.communicator == named(traces[0], "Bcast")[0].communicator != 0
            assert bcast.completed_ns > 0
            for name in ("Allreduce", "Allgather", "Scatter", "Gather", "Iallreduce"):
                (call,) = named(trace, name)
                assert (call.num_elements, call.num_bytes) == (2, 16), name
                assert call.completed_ns > 0
                assert call.communicator_size == 3
                assert call.peer == (1 if name in ("Scatter", "Gather") else NO_PEER)
            (reduction,) = named(trace, "Iallreduce")
            assert reduction.creates_request
            assert named(trace, "Wait")[0].waits_for == (reduction.sequence,)
            (never_waited_for,) = named(trace, "Ibarrier")
            assert never_waited_for.completed_ns == 0
            (barrier,) = named(trace, "Barrier")
            assert (barrier.num_elements, barrier.num_bytes) == (-1, -1)


def test_communicators_have_one_number_on_all_members(launch):
    """However a communicator was made; peers and sources are ranks of the backend."""
    program = (
        HEAD
        + """
group = comm.Get_group()
data = np.zeros(1)

def visit(made):
    made.Barrier()
    if made.Is_inter():
        if made.rank == 0:
            made.Sendrecv(data, dest=0, recvbuf=data, source=0)
    elif made.size > 1:
        status = MPI.Status()
        peer = (made.rank + 1) % made.size
        request = made.Isend(data, dest=peer)
        made.Recv(data, status=status)
        assert status.source == (made.rank - 1) % made.size
        request.Wait()

halves = comm.Split(rank // 2, key=-rank)
visit(halves)
visit(halves.Dup())
visit(comm.Dup())
visit(comm.Dup())
later, request = comm.Idup()
request.Wait()
visit(later)
visit(comm.Create_cart([2, 2]))
if rank < 3:
    visit(comm.Create_group(group.Incl([2, 0, 1])))
if rank > 0:
    visit(comm.Create_group(group.Incl([1, 2, 3])))
between = halves.Create_intercomm(1, comm, 0 if rank > 1 else 2)
visit(between)
merged = between.Merge()
visit(merged)
visit(MPI.COMM_SELF)
merged.Free()
visit(comm.Dup())
"""
    )
    with launch(program, 4) as run:
        traces = run.finish()
        visited = [named(trace, "Barrier") for trace in traces]
        members = [
            {
                rank
                for rank in range(4)
                if any(other.communicator == call.communicator for other in visited[rank])
            }
            for call in visited[0]
        ]
        everyone, half = {0, 1, 2, 3}, {0, 1}
        assert members == [
            *(half, half, everyone, everyone, everyone, everyone),
            *({0, 1, 2}, everyone, everyone, {0}, everyone),
        ]
        for calls in visited:
            numbers = [call.communicator for call in calls]
            assert len(set(numbers)) == len(numbers)
            assert 0 not in numbers
        sizes = [call.communicator_size for call in visited[0]]
        assert sizes == [2, 2, 4, 4, 4, 4, 3, 4, 4, 1, 4]
        posted = [call for trace in traces for call in trace.calls if call.is_send]
        received = [call for trace in traces for call in trace.calls if call.is_receive]
        assert all(0 <= call.peer < 4 for call in posted)
        sent = sorted(
            (rank, call.peer, call.communicator)
            for rank, trace in enumerate(traces)
            for call in trace.calls
            if call.is_send
        )
        got = sorted(
            (call.matched_source, rank, call.communicator)
            for rank, trace in enumerate(traces)
            for call in trace.calls
            if call.is_receive
        )
        assert sent == got
        assert len(posted) == len(received) > 20
        between = visited[0][7].communicator
        assert [each for each in sent if each[2] == between] == [(1, 3, between), (3, 1, between)]


def test_lower_case_calls_are_flagged_as_pickles(launch):
    """A pickle is known by its bytes, in messages and in collectives; plain bytes are not."""
    program = (
        HEAD
        + """
import pickle
if rank == 0:
    comm.send({"a": 1}, dest=1)
    comm.isend([1, 2], dest=1).wait()
    comm.Send(np.frombuffer(pickle.dumps([1, 2]), np.uint8), dest=1)
    comm.Send(bytearray(b"\\x80\\x05 not a pickle"), dest=1)
    comm.Send(np.zeros(3), dest=1)
else:
    comm.recv(source=0)
    comm.irecv(source=0).wait()
    comm.Recv(np.zeros(64, np.uint8), source=0)
    comm.Recv(bytearray(32), source=0)
    comm.Recv(np.zeros(3), source=0)
comm.bcast({"a": 1}, root=0)
comm.Bcast(np.zeros(1), root=0)
"""
    )
    with launch(program, 2) as run:
        trace, other = run.finish()
        assert [call.pickled for call in trace.calls if call.is_send] == [True] * 3 + [False] * 2
        assert any(call.pickled for call in named(trace, "Bcast"))
        assert not named(trace, "Bcast")[-1].pickled
        assert not any(call.pickled for call in other.calls)


def test_phases_and_pauses(launch):
    """Pcontrol(1) and (0) mark the phase; after Pcontrol(2) nothing is seen, but requests are."""
    program = (
        HEAD
        + """
data = np.zeros(1)
comm.Barrier()
MPI.Pcontrol(1)
request = comm.Irecv(data, source=rank)
MPI.Pcontrol(2)
comm.Send(data, dest=rank)
request.Wait()
judge.send(b"."), judge.recv(1)
made = comm.Dup()
MPI.Pcontrol(1)
made.Barrier()
MPI.Pcontrol(0)
made.Barrier()
"""
    )
    with launch(program, 2, synchronous_sends=True) as run:
        for rank in range(2):
            run.hear(rank)
            now = run.memories[rank].snapshot()
            assert (now.inside, now.polling) == (-1, False)
            run.say(rank)
        traces = run.finish()
        for trace in traces:
            assert [(call.function, call.phase) for call in trace.calls[1:-1]] == [
                *(("Barrier", 0), ("Irecv", 1), ("Barrier", 1), ("Barrier", 0)),
            ]
            assert trace.calls[2].completed_ns > 0
            assert trace.calls[2].matched_source == trace.rank
        assert len({trace.calls[3].communicator for trace in traces}) == 1


def test_only_the_file_that_first_marked_a_phase_can_mark_others(launch):
    """A student's own Pcontrol(2) hides nothing and is seen."""
    program = (
        HEAD
        + """
MPI.Pcontrol(1)
exec(compile("MPI.Pcontrol(2)", "student.py", "exec"))
comm.Barrier()
"""
    )
    with launch(program, 1) as run:
        (trace,) = run.finish()
        marked, barrier = trace.calls[1:3]
        assert (marked.function, marked.file, marked.line) == ("Pcontrol", "student.py", 1)
        assert (barrier.function, barrier.phase) == ("Barrier", 1)


def test_messages_to_nobody(launch):
    """PROC_NULL is neither a rank nor any source."""
    program = (
        HEAD
        + """
data = np.zeros(1)
comm.Send(data, dest=MPI.PROC_NULL)
comm.Recv(data, source=MPI.PROC_NULL)
comm.Irecv(data, source=MPI.PROC_NULL).Wait()
"""
    )
    with launch(program, 1) as run:
        (trace,) = run.finish()
        send, receive, nonblocking = (c for c in trace.calls if c.is_send or c.is_receive)
        assert send.peer == receive.peer == nonblocking.peer == PROC_NULL
        assert receive.matched_source == nonblocking.matched_source == PROC_NULL
        assert nonblocking.completed_ns > 0


def test_errors_reach_program_and_record(launch):
    """What MPI says of a call stays what it was: the code, and every field of a status."""
    program = (
        HEAD
        + """
small, status = np.zeros(1), MPI.Status()
for tag in range(3):
    comm.Isend(np.zeros(2), dest=rank, tag=tag)
    status.error = 12345
    try:
        comm.Recv(small, source=rank, tag=tag, status=status if tag else None)
        raise AssertionError("truncation went unnoticed")
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_TRUNCATE
comm.Isend(small, dest=rank)
status.error = 12345
comm.Recv(small, source=rank, status=status)
assert status.error == 12345
try:
    comm.Send(small, dest=17)
    raise AssertionError("a rank that does not exist went unnoticed")
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_RANK
"""
    )
    with launch(program, 1) as run:
        (trace,) = run.finish()
        receives = named(trace, "Recv")
        assert [call.error != 0 for call in receives] == [True, True, True, False]
        assert [call.completed_ns > 0 for call in receives] == [False, False, False, True]
        (send,) = named(trace, "Send")
        assert send.error != 0
        assert (send.peer, send.completed_ns) == (17, 0)


def test_many_requests_in_one_wait(launch):
    """A wait names the first 256 of its requests; all of them are completed."""
    program = (
        HEAD
        + """
data = np.zeros(300)
requests = [comm.Irecv(data[i : i + 1], source=0, tag=i) for i in range(300)]
requests += [comm.Isend(data[i : i + 1], dest=0, tag=i) for i in range(300)]
MPI.Request.Waitall(requests)
"""
    )
    with launch(program, 1) as run:
        (trace,) = run.finish()
        (wait,) = named(trace, "Waitall")
        receives = named(trace, "Irecv")
        assert wait.waits_for == tuple(call.sequence for call in receives[:256])
        assert all(call.completed_ns for call in trace.calls if call.creates_request)
        assert [call.matched_tag for call in receives] == list(range(300))


def test_of_calls_that_are_lost_the_last_of_each_function_is_kept(launch):
    """Who hides one behind many others is found all the same, also behind those of the harness."""
    program = (
        HEAD
        + """
data = np.zeros(3)
MPI.Pcontrol(1)
for _ in range(2):
    comm.Allreduce(data, data.copy())
MPI.Pcontrol(0)
comm.allreduce(1)
MPI.Pcontrol(1)
for _ in range(300):
    comm.Isend(data, dest=MPI.PROC_NULL).Wait()
comm.Barrier()
"""
    )
    with launch(program, 2, num_records=64) as run:
        for trace in run.finish():
            assert trace.truncated
            kept = [call.function for call in trace.calls[:-64]]
            assert sorted(kept) == ["Allreduce", "Isend", "Wait"]
            (reduction,) = named(trace, "Allreduce")
            assert reduction.line == run.line_of("comm.Allreduce")
            assert trace.calls[-64].sequence - reduction.sequence > 500


def test_threads(launch):
    """Calls of several threads are all recorded, each with its own line and result."""
    program = """
    import threading
    from mpi4py import MPI
    import numpy as np
    comm = MPI.COMM_WORLD
    assert MPI.Query_thread() == MPI.THREAD_MULTIPLE

    def talk(tag):
        data = np.zeros(1)
        for _ in range(200):
            requests = [comm.Irecv(data, source=0, tag=tag), comm.Isend(data, dest=0, tag=tag)]
            MPI.Request.Waitall(requests)

    threads = [threading.Thread(target=talk, args=(tag,)) for tag in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    """
    with launch(program, 1) as run:
        (trace,) = run.finish()
        assert [call.sequence for call in trace.calls] == list(range(2 + 4 * 3 * 200))
        for wait in named(trace, "Waitall"):
            receive, send = (trace.calls[sequence] for sequence in wait.waits_for)
            assert (receive.function, send.function) == ("Irecv", "Isend")
            assert receive.tag == send.tag == receive.matched_tag
            assert receive.completed_ns > 0
            assert send.completed_ns > 0
        assert {call.line for call in named(trace, "Irecv")} == {run.line_of("requests = ")}


def test_a_forked_child_is_not_the_rank(launch):
    """What a child does that a rank has forked is not taken for the rank's doing."""
    program = (
        HEAD
        + """
import os
child = os.fork()
if child == 0:
    MPI.REQUEST_NULL.Test()
    os._exit(0)
os.waitpid(child, 0)
comm.Barrier()
"""
    )
    with launch(program, 1) as run:
        (trace,) = run.finish()
        assert [call.function for call in trace.calls] == ["Init_thread", "Barrier", "Finalize"]


def test_without_a_memory_calls_are_only_passed_on(launch):
    """No variable, one that names nothing, or a file that is no trace memory: MPI just works."""
    program = """
    import os, tempfile
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    other = tempfile.TemporaryFile()
    other.truncate(1 << 20)
    os.environ["GRADER_TRACE_FD"] = ["", "12345", str(other.fileno())][rank]
    from mpi4py import MPI
    import numpy as np
    comm = MPI.COMM_WORLD
    data, got = np.full(1, float(comm.rank)), np.zeros(1)
    request = comm.Irecv(got, source=(rank - 1) % 3)
    comm.Send(data, dest=(rank + 1) % 3)
    while not request.Test():
        pass
    assert got[0] == (rank - 1) % 3
    comm.Sendrecv_replace(data, dest=(rank + 1) % 3, source=(rank - 1) % 3)
    comm.Dup().Free()
    assert other.tell() == 0 and not any(other.read())
    """
    with launch(program, 3) as run:
        for trace in run.finish():
            assert not trace.attached
            assert (trace.rank, trace.calls) == (-1, ())


def test_the_library_behind_the_interposer_stays_private(launch):
    """What ctypes finds is our MPI_Send, which is watched, but no PMPI_Send, which is not."""
    program = (
        HEAD
        + """
import ctypes
everything = ctypes.CDLL(None)
assert everything.MPI_Barrier
assert not hasattr(everything, "PMPI_Barrier")
address = MPI._handleof(comm)
assert everything.MPI_Barrier(ctypes.c_void_p(address)) == 0
"""
    )
    with launch(program, 2) as run:
        for trace in run.finish():
            assert len(named(trace, "Barrier")) == 1
