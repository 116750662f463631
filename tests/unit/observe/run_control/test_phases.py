"""Whose calls the rules see: the student's, whenever they are made, and not ours around them."""

from dataclasses import replace

import pytest
from launching import case, run

from grader.model.report import Outcome

TWO_CASES = (case("first"), case("second"))
CONTEXT = """
import functools
import sys
import threading
import numpy as np
from mpi4py import MPI

def found(name):
    frame = sys._getframe()
    while name not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals[name]
"""
LOOKUP = """
def __getattr__(name):
    if name != "go":
        raise AttributeError(name)
    MPI.COMM_WORLD.bcast(1)
    return lambda comm: comm.Barrier()
"""
PAUSE = """
def go(comm):
    with found("student").outside():
        comm.bcast(1)
    comm.Barrier()
"""
PAUSE_BY_A_ROUNDABOUT_NAME = """
PAUSE = '''
with found("student").outside():
    comm.bcast(1)
'''
def go(comm):
    exec(compile(PAUSE, "<probes/../mine>", "exec"), {**globals(), "comm": comm})
    comm.Barrier()
"""
PAUSE_IN_A_THREAD = """
def go(comm):
    thread = threading.Thread(target=found("student").mark_phase, args=(2,))
    thread.start(), thread.join()
    comm.bcast(1)
    comm.Barrier()
"""
OUR_PROBE = """
def go(comm):
    if comm.Get_name() != "inner":
        comm.Set_name("inner")
        student, call = found("student"), found("probe")
        call(student, comm, number=0)
        comm.bcast(1)
    comm.Barrier()
"""
REPLACED = """
real = np.asarray

def go(comm):
    comm.Barrier()
    np.asarray = lambda value: comm.bcast(1) and real(value)
"""
REPLACED_WITHOUT_A_FRAME = """
def go(comm):
    comm.Barrier()
    np.asarray = functools.partial(comm.allreduce, op=np.add)
"""


def functions(source, **options):
    """Return what rank 0 calls in each case, as the rules see it."""
    launched = run(CONTEXT + source, cases=TWO_CASES, **options)
    assert launched.failure is None, launched.failure
    seen = []
    for outcome in launched.outcomes:
        assert isinstance(outcome, Outcome)
        seen.append([call.function for call in outcome.trace.ranks[0].calls])
    return seen


def test_what_an_import_calls_is_not_judged():
    """A file may try itself out where it is imported."""
    source = "MPI.COMM_WORLD.bcast(1)\ndef go(comm): comm.Barrier()"
    assert functions(source) == [["Barrier"], ["Barrier"]]


@pytest.mark.parametrize(
    "source",
    [LOOKUP, PAUSE, PAUSE_BY_A_ROUNDABOUT_NAME, PAUSE_IN_A_THREAD, OUR_PROBE, REPLACED],
    ids=["lookup", "pause", "roundabout name", "thread", "probe of ours", "replaced function"],
)
def test_a_collective_counts_whenever_the_student_calls_it(source):
    """Who calls decides: not what the harness does at that moment, or is made to believe."""
    for seen in functions(source):
        assert "Barrier" in seen
        assert "Bcast" in seen


def test_a_collective_that_ours_is_made_to_call_counts():
    """A function of C leaves no frame; but ours calls no collective where a student's code runs."""
    for seen in functions(REPLACED_WITHOUT_A_FRAME):
        assert seen[0] == "Barrier"
        assert {"Bcast", "Reduce", "Gather", "Allgather", "Allreduce"} & set(seen)


def test_of_torch_all_calls_count_where_a_case_says_so():
    """There a submission can say itself that a call is none of the student's."""
    source = """
    import sys
    import torch
    import torch.distributed as dist

    def go(comm):
        frame = sys._getframe()
        while "student" not in frame.f_locals:
            frame = frame.f_back
        frame.f_locals["student"].mark_phase(0)
        dist.all_reduce(torch.ones(1))
        frame.f_locals["student"].mark_phase(1)
        dist.barrier()
    """
    cases = (case("some"), replace(case("all"), all_calls_count=True))
    launched = run(source, cases=cases, backend="torch")
    assert launched.failure is None, launched.failure
    some, every = (outcome.trace.ranks[0].calls for outcome in launched.outcomes)
    assert [call.function for call in some] == ["barrier"]
    assert [call.function for call in every] == ["all_reduce", "barrier"]
