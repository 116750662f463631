"""A rank that has returned goes on making MPI progress, and is finished all the same."""

from collections.abc import Iterator

import numpy as np
import pytest
from launching import case, run, values

from grader.judge.explanation.launch_result import LaunchResult
from grader.model.report import Array, Outcome, RunFailure, Verdict
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording.launch_plan import CaseCall, Limits

LENGTHS = (13, 1024, 300_000)
"""Of doubles: sent at once, and twice too long for that."""

NAIVE = """
    import numpy as np
    from mpi4py import MPI
    kept = []
    def go(comm):
        send = np.full({length}, comm.rank + 1.0)
        kept.append(send)
        boxes = [np.empty_like(send) for _ in range(comm.size - 1)]
        others = [rank for rank in range(comm.size) if rank != comm.rank]
        for other in others:
            {send}
        for box, other in zip(boxes, others):
            comm.Irecv(box, other).Wait()
        return sum(boxes, start=send)[-1]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ForkserverClient]:
    """One for all: starting it takes as long as many runs."""
    with ForkserverClient() as started:
        yield started


def outcomes_of(launched: LaunchResult) -> list[Outcome]:
    """Return the outcomes of a run in which all went well."""
    assert launched.failure is None, launched.failure
    assert all(isinstance(each, Outcome) for each in launched.outcomes), launched.outcomes
    return list(launched.outcomes)  # type: ignore[arg-type] # just asserted


def repeated(ranks: int, *, unbuffered: bool = False) -> tuple[CaseCall, ...]:
    """Return the same case three times: what one leaves under way meets the next."""
    return tuple(case(str(i), ranks, synchronous_sends=unbuffered) for i in range(3))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_dropped_send_arrives(server, length, unbuffered):
    """The sums are right in each case, and the trace says which requests were dropped."""
    launched = run(
        NAIVE.format(length=length, send="comm.Isend(send, other)"),
        ranks=3,
        cases=repeated(3, unbuffered=unbuffered),
        server=server,
    )
    for outcome in outcomes_of(launched):
        assert [float(value) for value in outcome["value"]] == [6.0, 6.0, 6.0]
        assert outcome.trace.doubts == ()
        for rank in outcome.trace.ranks:
            sends = [call for call in rank.calls if call.function == "Isend"]
            assert [call.completed_ns for call in sends] == [0, 0]
            assert {call.function for call in rank.calls} == {"Isend", "Irecv", "Wait"}


@pytest.mark.parametrize("length", LENGTHS)
def test_a_send_whose_request_was_freed_arrives(server, length):
    """Request.Free tells MPI to do without us."""
    launched = run(
        NAIVE.format(length=length, send="comm.Isend(send, other).Free()"),
        ranks=3,
        cases=repeated(3),
        server=server,
    )
    for outcome in outcomes_of(launched):
        assert [float(value) for value in outcome["value"]] == [6.0, 6.0, 6.0]


@pytest.mark.parametrize("backend", ["mpi-student", "mpi-script"])
def test_scripts_and_programs_that_begin_mpi_have_progress_too(server, backend):
    """What looks like Finalize to them is none; they have left MPI as little as others."""
    begin, end = ("MPI.Init()", "MPI.Finalize()") if backend == "mpi-student" else ("", "")
    source = f"""
    import mpi4py
    mpi4py.rc(initialize=False, finalize=False)
    from mpi4py import MPI
    import numpy as np
    {begin}
    comm = MPI.COMM_WORLD
    send, box = np.full(300_000, comm.rank + 1.0), np.zeros(300_000)
    if comm.rank == 0:
        comm.Isend(send, 1)
    else:
        comm.Irecv(box, 0).Wait()
    answer = box[-1]
    {end}
    """
    cases = tuple(case(str(i), 2, "bare_script") for i in range(3))
    launched = run(source, backend=backend, cases=cases, server=server)
    assert [values(launched, i) for i in range(3)] == [[0.0, 1.0]] * 3


def test_a_collective_that_nobody_waits_for_lets_the_others_out(server):
    """The first ranks return at once; the last one's Wait needs all of them."""
    launched = run(
        """
        import numpy as np
        kept = []
        def go(comm):
            given, sums = np.full(300_000, comm.rank + 1.0), np.zeros(300_000)
            kept.append((given, sums))
            request = comm.Iallreduce(given, sums)
            if comm.rank == comm.size - 1:
                request.Wait()
                return sums[-1]
        """,
        ranks=4,
        cases=repeated(4),
        server=server,
    )
    assert [values(launched, i)[3] for i in range(3)] == [10.0, 10.0, 10.0]


ARRAY_PROBES = """
def lent(student, comm):
    import numpy as np
    function = student.function("work.py", "go")
    lent = np.full(300_000, comm.rank + 1.0)
    with student.phase():
        value = function(comm, lent)
    return {"value": np.asarray(value)}

def boxed(student, comm):
    import numpy as np
    function = student.function("work.py", "go")
    box = np.zeros(300_000)
    with student.phase():
        function(comm, box)
    return {"box": box}
"""


def test_what_a_call_was_given_stays(server, monkeypatch):
    """A caller's array lives on when the call has returned: MPI still sends from it."""
    monkeypatch.setattr("launching.PROBES", ARRAY_PROBES)
    launched = run(
        """
        import time
        import numpy as np
        def go(comm, lent):
            if comm.rank == 0:
                comm.Isend(lent, 1)
                return 0.0
            time.sleep(0.3)
            comm.Recv(lent, 0)
            return lent.sum()
        """,
        cases=tuple(case(str(i), probe="lent") for i in range(2)),
        server=server,
    )
    assert [values(launched, i) for i in range(2)] == [[0.0, 300_000.0]] * 2


def test_results_are_what_the_call_left_and_no_later_message(server, monkeypatch):
    """A last wait that is missing costs what it must: the message comes when all is copied."""
    monkeypatch.setattr("launching.PROBES", ARRAY_PROBES)
    cases = tuple(
        CaseCall(
            str(i),
            "boxed",
            synchronous_sends=False,
            inputs=({}, {}),
            expected=({"box": Array("float64", (300_000,))},) * 2,
        )
        for i in range(3)
    )
    launched = run(
        """
        import time
        import numpy as np
        boxes = []
        def go(comm, box):
            if comm.rank == 0:
                comm.Irecv(box, 1)
                boxes.append(box)
            else:
                time.sleep(0.3)
                comm.Send(np.ones_like(box), 0)
            if comm.rank == 0 and len(boxes) > 1:
                assert boxes[-2].all()
        """,
        cases=cases,
        server=server,
    )
    for outcome in outcomes_of(launched):
        assert not np.any(outcome["box"][0])


def diagnose(server: ForkserverClient, source: str, **options: object) -> RunFailure:
    """Return why a run ended."""
    launched = run(source, server=server, limits=Limits(case_s=30), **options)  # type: ignore[arg-type]
    assert launched.failure is not None, launched
    return launched.failure


def test_a_rank_that_has_returned_is_finished(server):
    """Its progress is no sign of life: who waits for more of it is told so, long before the limit.

    That it left a send under way, which nobody receives, changes nothing.
    """
    failure = diagnose(
        server,
        """
        import numpy as np
        kept = []
        def go(comm):
            box = np.zeros(100_000)
            kept.append(box)
            if comm.rank == 0:
                comm.Isend(box, 1, tag=3)
            else:
                comm.Recv(box, 0, tag=4)
        """,
    )
    assert failure.verdict is Verdict.DEADLOCK
    assert "rank 1 waits in Recv(source=0, tag=4) at work.py:10" in failure.message
    assert (
        "rank 0 sends rank 1 a message with tag 3 at work.py:8, but rank 1 waits for tag 4"
        in failure.message
    )


def test_what_is_left_of_a_case_disturbs_no_later_one(server):
    """A send that nobody receives and a receive that gets nothing lie there until the end."""
    launched = run(
        """
        import numpy as np
        kept = []
        calls = []
        def go(comm):
            send, box = np.full(100_000, 1.0 + len(calls)), np.zeros(100_000)
            kept.append((send, box))
            calls.append(None)
            if len(calls) == 1:
                comm.Isend(send, 1 - comm.rank, tag=5)
                comm.Irecv(box, 1 - comm.rank, tag=6)
                return 0.0
            request = comm.Isend(send, 1 - comm.rank, tag=6)
            comm.Irecv(box, 1 - comm.rank, tag=6).Wait()
            request.Wait()
            return box[-1]
        """,
        cases=repeated(2),
        server=server,
    )
    outcomes = outcomes_of(launched)
    assert [values(launched, i) for i in range(3)] == [[0.0, 0.0], [2.0, 2.0], [3.0, 3.0]]
    for outcome in outcomes:
        assert outcome.trace.doubts == ()
    for outcome in outcomes[1:]:
        for rank in outcome.trace.ranks:
            assert all(call.completed_ns for call in rank.calls if call.creates_request)


def test_a_standalone_program_gets_no_call_from_us(server):
    """It has returned without Finalize: whoever waits for its long message waits in vain."""
    launched = run(
        """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        boxes = np.zeros((2, 300_000))
        if comm.rank == 0:
            comm.Isend(boxes[0], 1, tag=7)
            comm.Isend(boxes[1], 2, tag=8)
        if comm.rank == 2:
            comm.Recv(boxes[1], 0, tag=8)
        answer = 0
        """,
        ranks=3,
        standalone=True,
        backend="mpi-script",
        cases=(case("once", 3, "bare_script"),),
        limits=Limits(case_s=3),
        server=server,
    )
    assert launched.failure is not None
    assert launched.failure.verdict is Verdict.TIME_LIMIT_EXCEEDED
    assert (
        "rank 0 returned without waiting for its Isend(dest=2, tag=8)" in launched.failure.message
    )


def test_a_send_from_memory_that_is_gone(server):
    """What MPI still reads has been given back: the crash is told as what it is."""
    failure = diagnose(
        server,
        """
        import mmap
        import time
        import numpy as np
        def go(comm):
            if comm.rank == 0:
                room = mmap.mmap(-1, 8 * 10**6)
                comm.Isend(np.frombuffer(room), 1, tag=3)
            else:
                time.sleep(0.3)
                comm.Recv(np.empty(10**6), 0, tag=3)
        """,
    )
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    assert failure.message.startswith(
        "rank 0's process was killed by SIGSEGV after the rank had returned. Likely: the "
        "rank never waited for its Isend(dest=1, tag=3) at work.py:8"
    )
