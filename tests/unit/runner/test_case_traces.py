"""What is kept of the calls of each case, where a plan asks for it."""

import pytest
from launching import case, run
from unit.judge.build import Run

from grader.runner.case_traces import CaseTraces


def functions(launched, index):
    return [[call.function for call in rank.calls] for rank in launched.traces[index].trace.ranks]


def test_nothing_is_kept_unless_asked_for():
    """As in every grading."""
    assert run("def go(comm): comm.Barrier()").traces == []


def test_every_case_has_its_trace_also_the_one_that_ends_the_run():
    """With the calls of the student's phase, up to the one that a rank is in."""
    launched = run(
        """
        calls = []
        def go(comm):
            comm.Barrier()
            calls.append(1)
            if len(calls) == 2:
                comm.recv(source=1 - comm.rank)
        """,
        cases=(case("first"), case("second"), case("third")),
        keeps_traces=True,
    )
    assert launched.failure is not None and launched.failure.message.startswith("deadlock")
    assert functions(launched, 0) == [["Barrier"]] * 2
    (barrier, receive) = launched.traces[1].trace.ranks[0].calls
    assert (barrier.function, receive.left_ns) == ("Barrier", 0)
    assert launched.traces[1].trace.ranks[0].inside == receive.sequence
    assert 0 < launched.traces[0].began_ns < launched.traces[1].began_ns < barrier.entered_ns
    assert len(launched.traces) == 2


def test_an_answer_that_is_refused_has_a_trace_too():
    """Only its outcome is missing."""
    launched = run("def go(comm):\n    comm.Barrier()\n    return float('nan')", keeps_traces=True)
    assert "not a finite number" in launched.outcomes[0].message
    assert functions(launched, 0) == [["Barrier"]] * 2


@pytest.mark.parametrize(("most_num_bytes", "kept"), [(1000, [1, 2, 0]), (2000, [1, 2, 3])])
def test_so_many_calls_are_kept_and_no_more(most_num_bytes, kept):
    """A case that has too many keeps none, and says that some are lost."""
    numbers = iter((1, 2, 3))

    def read():
        made = Run(1)
        for _ in range(next(numbers)):
            made.call(0, "Barrier")
        made.call(0, "Barrier", phase=0)
        return made.trace()

    traces = CaseTraces(read, (1,), most_num_bytes=most_num_bytes)
    for _ in range(3):
        traces.begin()
        traces.end()
    traces.end()
    assert [each.trace.num_calls for each in traces.kept] == kept
    assert [each.trace.ranks[0].truncated for each in traces.kept] == [n == 0 for n in kept]
    assert [each.num_others for each in traces.kept] == [1, 1, 1]
