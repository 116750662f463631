"""What the judge sees of ranks that hang, spin, or are killed; and ranks it perturbs."""

import os
import time

from grader.trace.calls import NO_PEER

from .launch import named

HEAD = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
data = np.zeros(2)
"""

HEAD_TO_HEAD = (
    HEAD
    + """
MPI.Pcontrol(1)
comm.Send(data, dest=1 - rank, tag=3)
comm.Recv(data, source=1 - rank, tag=3)
"""
)


def all_inside(ranks):
    return all(rank.inside >= 0 and rank.head == rank.inside + 1 for rank in ranks)


def test_head_to_head_sends_finish_while_they_are_buffered(launch):
    """Without rendezvous a small send does not wait: the bug stays hidden."""
    with launch(HEAD_TO_HEAD, 2) as run:
        for trace in run.finish():
            assert not named(trace, "Send")[0].synchronous


def test_head_to_head_sends_hang_in_rendezvous_mode(launch):
    """With it both ranks stay inside their Send, and nothing moves any more."""
    with launch(HEAD_TO_HEAD, 2, synchronous_sends=True) as run:
        run.until(lambda ranks: all_inside(ranks) and all(each.head == 2 for each in ranks))
        for rank, trace in enumerate(run.read()):
            send = trace.calls[trace.inside]
            assert (send.function, send.peer, send.tag) == ("Send", 1 - rank, 3)
            assert send.line == run.line_of("comm.Send")
            assert (send.synchronous, send.phase) == (True, 1)
            assert (send.left_ns, send.completed_ns) == (0, 0)
            assert not trace.finalised
            assert trace.progress == 1


def test_the_judge_can_change_the_mode_between_cases(launch):
    """Every kind of standard and ready send follows the control word; Bsend and Ssend do not."""
    program = (
        HEAD
        + """
for _ in range(2):
    judge.send(b"."), judge.recv(1)
    back = [np.zeros(2) for _ in range(6)]
    receives = [comm.Irecv(each, source=1 - rank, tag=tag) for tag, each in enumerate(back)]
    comm.Barrier()
    comm.Send(data, dest=1 - rank, tag=0)
    comm.Rsend(data, dest=1 - rank, tag=1)
    comm.Isend(data, dest=1 - rank, tag=2).Wait()
    comm.Irsend(data, dest=1 - rank, tag=3).Wait()
    comm.Ssend(data, dest=1 - rank, tag=4)
    request = comm.Send_init(data, dest=1 - rank, tag=5)
    request.Start()
    request.Wait()
    MPI.Request.Waitall(receives)
"""
    )
    with launch(program, 2) as run:
        for synchronous in (False, True):
            for rank in range(2):
                run.hear(rank)
            for rank in range(2):
                run.memories[rank].set_synchronous_sends(synchronous)
            for rank in range(2):
                run.say(rank)
        for trace in run.finish():
            sends = [(call.function, call.synchronous) for call in trace.calls if call.is_send]
            buffered = ["Send", "Rsend", "Isend", "Irsend"]
            assert sends == [
                *((name, False) for name in buffered),
                *(("Ssend", True), ("Start", False)),
                *((name, True) for name in buffered),
                *(("Ssend", True), ("Start", True)),
            ]
            assert all(call.completed_ns for call in trace.calls if call.is_send)


def test_a_wait_for_a_message_that_never_comes(launch):
    """The waiting call names the calls that it waits for; a rank outside MPI is outside."""
    program = (
        HEAD
        + """
if rank == 0:
    requests = [comm.Irecv(data, source=1, tag=tag) for tag in (1, 2)]
    MPI.Request.Waitall(requests)
else:
    comm.Send(data, dest=0, tag=1)
    judge.recv(1)
"""
    )
    with launch(program, 2) as run:
        run.until(lambda ranks: ranks[0].inside >= 0 and ranks[0].head == 4)
        run.until(lambda ranks: ranks[1].head == 2 and ranks[1].inside < 0)
        waiting, outside = run.read()
        wait = waiting.calls[waiting.inside]
        assert (wait.function, wait.peer) == ("Waitall", NO_PEER)
        assert wait.line == run.line_of("Waitall")
        assert [waiting.calls[sequence].tag for sequence in wait.waits_for] == [1, 2]
        assert (outside.inside, outside.polling) == (-1, False)


def test_a_stuck_sendrecv_waits_for_both_halves(launch):
    """The rank is inside the receive half, which names the send half too."""
    program = (
        HEAD
        + """
comm.Sendrecv(data, dest=0, sendtag=1, recvbuf=data.copy(), source=0, recvtag=2)
"""
    )
    with launch(program, 1) as run:
        run.until(lambda ranks: ranks[0].head == 3)
        (trace,) = run.read()
        half = trace.calls[trace.inside]
        assert half.is_receive
        assert (half.peer, half.tag) == (0, 2)
        assert half.waits_for == (half.sequence - 1, half.sequence)
        assert trace.calls[half.sequence - 1].is_send


def test_a_hang_in_finalize_is_seen(launch):
    """Finalize waits for the others like a collective of the backend."""
    program = (
        HEAD
        + """
if rank == 0:
    MPI.Finalize()
judge.recv(1)
"""
    )
    with launch(program, 2) as run:
        run.until(lambda ranks: ranks[0].inside >= 0 and ranks[0].head == 2)
        trace = run.memories[0].read()
        call = trace.calls[trace.inside]
        assert (call.function, call.communicator, call.communicator_size) == ("Finalize", 0, 2)
        assert call.line == run.line_of("Finalize")
        assert not trace.finalised


def test_the_trace_outlives_a_killed_rank(launch):
    """After kill -9 everything up to the last call is still there."""
    program = (
        HEAD
        + """
comm.Barrier()
if rank == 1:
    for tag in range(20):
        comm.Send(data, dest=0, tag=tag)
    comm.Recv(data, source=0)
judge.recv(1)
"""
    )
    with launch(program, 2) as run:
        run.until(lambda ranks: ranks[1].inside == ranks[1].head - 1 == 22)
        run.kill(1)
        trace = run.memories[1].read()
        assert [call.tag for call in named(trace, "Send")] == list(range(20))
        assert trace.calls[trace.inside].function == "Recv"
        assert trace.attached
        assert not trace.truncated | trace.finalised


def test_lost_calls_are_noticed(launch):
    """A memory that is too small keeps the last calls and says that others are missing."""
    program = (
        HEAD
        + """
MPI.Pcontrol(1)
for tag in range(200):
    request = comm.Irecv(data, source=0, tag=tag)
    comm.Send(data, dest=0, tag=tag)
    request.Wait()
"""
    )
    with launch(program, 1, num_records=64) as run:
        (trace,) = run.finish()
        assert trace.truncated
        assert [call.sequence for call in trace.calls[-64:]] == list(range(602 - 64, 602))
        assert [call.sequence for call in trace.calls[:-64]] == [535, 536, 537]
        waits = [call for call in trace.calls[-64:] if call.function == "Wait"]
        assert all(wait.waits_for == (wait.sequence - 2,) for wait in waits)
        assert not run.memories[0].read(602 - 64).truncated
        assert run.memories[0].read(602 - 65).truncated
        assert run.memories[0].read(602).calls == ()
        assert not run.memories[0].read(602).truncated
        assert run.memories[0].snapshot().head == 602


def test_a_rank_with_a_thread_outside_mpi_is_not_stuck(launch):
    """While one thread waits in MPI another computes: the rank is neither inside nor polling."""
    program = (
        HEAD
        + """
import threading
thread = threading.Thread(target=comm.Recv, args=(data,), kwargs={"source": 0})
thread.start()
judge.recv(1)
comm.Send(data, dest=0)
thread.join()
judge.send(b"."), judge.recv(1)
comm.Recv(data, source=0)
"""
    )
    with launch(program, 1) as run:
        run.until(lambda ranks: ranks[0].head == 2)
        now = run.memories[0].snapshot()
        assert (now.inside, now.polling) == (-1, False)
        assert run.memories[0].read().calls[1].left_ns == 0
        run.say(0)
        run.hear(0)
        run.say(0)
        # That thread has ended; the one that is left counts again.
        run.until(lambda ranks: ranks[0].head == 4 and ranks[0].inside == 3)


def test_abort_is_the_last_call(launch):
    """A rank that aborts is inside Abort for ever."""
    with launch(HEAD + "comm.Abort(3)", 1) as run:
        assert run.wait() != 0
        (trace,) = run.read()
        assert trace.calls[trace.inside].function == "Abort"
        assert not trace.finalised


def test_progress_moves_messages_and_nothing_else(launch):
    """A long message goes between ranks that call nothing; their memories stay as they are."""
    program = (
        HEAD
        + """
import ctypes, select
data = np.ones(10**6) if rank == 0 else np.zeros(10**6)
MPI.Pcontrol(1)
request = comm.Isend(data, dest=1) if rank == 0 else comm.Irecv(data, source=0)
MPI.Pcontrol(0)
judge.send(b"."), judge.recv(1)
progress = ctypes.CDLL(None).grader_progress
while not (data.all() if rank == 1 else select.select([judge], [], [], 0.001)[0]):
    progress()
if rank == 1:
    judge.send(b".")
judge.recv(1)
os._exit(0)
"""
    )
    with launch("import os\n" + program, 2) as run:
        for rank in range(2):
            run.hear(rank)
        before = [_content(memory) for memory in run.memories]
        run.say(0)
        run.say(1)
        run.hear(1)
        assert [_content(memory) for memory in run.memories] == before


def test_a_rank_that_waits_long_leaves_the_core_to_others(launch):
    """It sleeps between two looks, longer each time; outside of MPI it only yields."""
    program = (
        HEAD
        + """
import os, resource
def slept():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
if rank == 0:
    judge.recv(1)
    comm.Send(data, dest=1)
else:
    before = slept()
    for _ in range(200):
        os.sched_yield()
    assert slept() - before < 100
    judge.send(b".")
    began_s, began_cpu_s = time.monotonic(), time.thread_time()
    comm.Recv(data, source=0)
    waited_s, cpu_s = time.monotonic() - began_s, time.thread_time() - began_cpu_s
    assert cpu_s < waited_s / 4, (cpu_s, waited_s)
"""
    )
    with launch("import time\n" + program, 2) as run:
        run.hear(1)
        time.sleep(0.3)
        run.say(0)
        run.finish()


def _content(memory):
    """Return all that the memory of a rank holds."""
    return os.pread(memory.fd, os.fstat(memory.fd).st_size, 0)
