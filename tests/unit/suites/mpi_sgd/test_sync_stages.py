"""Stages of synchronous training: what calls show of a fit that failed, and of its own program."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from mpi_sgd import serial
from mpi_sgd.failing_lines import failing_code
from mpi_sgd.fit_cases import Fit
from mpi_sgd.sync_cases import FIRST_STEP, SEVERAL_STEPS, cases_by_ranks
from mpi_sgd.sync_stages import (
    assert_program_ends,
    assert_program_trains,
    assert_shown_before_failing,
    calls_a_collective_on_some_ranks,
    fails_in_a_collective,
    gives_a_step_to_collectives,
    sends_a_step_around_a_ring,
    sends_to_one_neighbour_on_some_ranks,
)

from grader.api import Attempt, Call, Finding, Launch, RuleViolation, RunFailed, RunFailure, Verdict
from grader.grading_plugin.launch_results import make_launch

from ...judge.build import outcome, trace_of
from .outcomes import call, raising

RANKS = 3
CASES = cases_by_ranks("sync_network.py", has_messages=True)
CASE: Fit = next(case for case in CASES[RANKS] if case.group == SEVERAL_STEPS)
STEP_NUM_BYTES = 8 * serial.num_parameters(CASE.sizes)
CRASH = RunFailure(Verdict.RUN_TIME_ERROR, "it crashed", kind="ValueError", place="rank 0 fit.py:9")
HANG = RunFailure(Verdict.DEADLOCK, "it hangs", kind="stalled", place="rank 0 Finalize")


def failed(calls: Sequence[Sequence[Call]], failure: RunFailure = CRASH) -> Attempt:
    """Return what ranks did in a case that came to no answer."""
    return Attempt(RANKS, (), trace_of(calls), failure)


def pending(function: str, num_bytes: int = 8) -> Call:
    """Return a call that does not return."""
    return replace(call(function, num_bytes), left_ns=0, completed_ns=0)


def launch(attempt: Attempt) -> Launch:
    """Return the run of one case that came to no answer."""
    assert attempt.failure is not None
    return make_launch([CASE], [attempt.failure], RANKS, {0: attempt})


ORDINARY = launch(failed([[]] * RANKS))


@pytest.mark.parametrize(
    ("calls", "is_shown"),
    [
        ([[call("Allreduce", STEP_NUM_BYTES)]] * RANKS, True),
        ([[call("Allreduce", STEP_NUM_BYTES // 2)] * 2] * RANKS, True),
        ([[call("Allreduce", STEP_NUM_BYTES // 2)]] * RANKS, False),
        ([[call("Bcast", STEP_NUM_BYTES)]] * RANKS, False),
        ([[replace(call("Iallreduce", STEP_NUM_BYTES), completed_ns=0)]] * RANKS, True),
        ([[pending("Allreduce", STEP_NUM_BYTES)]] * RANKS, False),
        ([[call("Allreduce_init", STEP_NUM_BYTES)]] * RANKS, False),
        ([[replace(call("Allreduce_init", STEP_NUM_BYTES), creates_request=True)]] * RANKS, True),
        ([[call("Reduce", STEP_NUM_BYTES)]] * 2 + [[pending("Reduce", STEP_NUM_BYTES)]], True),
        ([[call("Allreduce", STEP_NUM_BYTES)]] * 2 + [[]], False),
    ],
)
def test_a_step_is_given_once_every_rank_has_given_it(calls, is_shown: bool) -> None:
    assert gives_a_step_to_collectives(CASE, failed(calls)) is is_shown


@pytest.mark.parametrize(
    ("num_bytes", "way", "is_shown"),
    [
        (2 * (RANKS - 1) * STEP_NUM_BYTES // RANKS + 8, 1, True),
        (STEP_NUM_BYTES, 1, False),
        (2 * (RANKS - 1) * STEP_NUM_BYTES // RANKS + 8, 0, False),
        (9 * STEP_NUM_BYTES, 1, False),
    ],
)
def test_a_step_goes_around_a_ring_in_the_bytes_of_one(num_bytes, way, is_shown: bool) -> None:
    calls = [[call("Isend", num_bytes, peer=(rank + way) % RANKS)] for rank in range(RANKS)]
    assert sends_a_step_around_a_ring(CASE, failed(calls)) is is_shown


@pytest.mark.parametrize("function", ["Allreduce", "Bcast"])
def test_a_collective_is_no_step_around_a_ring(function: str) -> None:
    beside = call(function, STEP_NUM_BYTES, peer=0)
    calls = [[beside, call("Isend", 8, peer=(rank + 1) % RANKS)] for rank in range(RANKS)]
    assert not sends_a_step_around_a_ring(CASE, failed(calls))


@pytest.mark.parametrize("function", ["Allreduce", "Comm_dup", "Ireduce"])
def test_one_rank_may_be_missing_in_a_collective(function: str) -> None:
    waits = [pending(function)]
    assert calls_a_collective_on_some_ranks(CASE, failed([[], waits, waits], HANG))
    assert not calls_a_collective_on_some_ranks(CASE, failed([[], [], waits], HANG))
    assert not calls_a_collective_on_some_ranks(CASE, failed([[], waits, waits]))


@pytest.mark.parametrize("made", [call("Allreduce", 8), pending("Bcast")])
def test_only_what_hangs_where_gradients_come_together_counts(made: Call) -> None:
    assert not calls_a_collective_on_some_ranks(CASE, failed([[], [made], [made]], HANG))


@pytest.mark.parametrize(
    ("line", "meant", "is_told"),
    [
        ("comm.AllReduce(g, total, op=MPI.SUM)", "Allreduce", True),
        ("comm.Allreduce(g, total, op=MPI.ADD)", None, True),
        ("comm.Allreduce(", None, True),
        ("comm.Allreduce(g.ravel(), total)", None, True),
        ("MPI.COMM_WORLD.Iallreduce(g, total)", None, True),
        ("comm.IAllreduce(g, total)", "Iallreduce", True),
        ("comm.reduceall(g)", "allreduce", True),
        ("request = comm.Allreduce_init(g, total)", None, True),
        ("total = np.add.reduce(g, axis=0)", None, False),
        ("total = functools.reduce(np.add, g)", None, False),
        ("Allreduce(g, total)", None, False),
        ("return 1 / 0  # comm.Allreduce(g, total)", None, False),
        ("total = [comm.All_reduce(g) for g in own]", "Allreduce", True),
        ("comm.Allreduce()", None, False),
        ("comm.AllReduce()", "Allreduce", False),
        ("comm.ISend(g, dest=1)", "Isend", False),
        ("total = self.add_gradients(comm, own)", None, False),
    ],
)
def test_an_error_in_the_call_of_a_collective_is_told_from_others(line, meant, is_told) -> None:
    findings = (Finding("crash.attribute_error", "", facts={"meant": meant} if meant else {}),)
    detail = f'  File "sync_network.py", line 9, in fit\n    {line}\nAttributeError: no such name'
    crash = replace(CRASH, findings=findings, detail=detail)
    assert fails_in_a_collective(CASE, failed([[]] * RANKS, crash)) is is_told
    hang = replace(crash, verdict=Verdict.DEADLOCK)
    assert not fails_in_a_collective(CASE, failed([[]] * RANKS, hang))


def test_the_innermost_line_is_the_one_that_fails() -> None:
    called = '  File "main.py", line 1, in go\n    comm.Allreduce(g, total)\n'
    fails = '  File "sync_network.py", line 9, in fit\n    1 / 0  # never\nZeroDivisionError'
    printed = "\n\nlast output of rank 0:\n" + called
    assert failing_code(replace(CRASH, detail=called + fails + printed)) == "1 / 0"
    assert failing_code(replace(CRASH, detail=printed)) == ""


def test_one_rank_may_be_missing_in_a_ring() -> None:
    def sends(*peers_by_rank: Sequence[int], failure: RunFailure = HANG) -> bool:
        calls = [[call("Isend", 8, peer=peer) for peer in peers] for peers in peers_by_rank]
        return sends_to_one_neighbour_on_some_ranks(CASE, failed(calls, failure))

    assert sends([], [2], [0])
    assert sends([2], [0], [1])
    assert not sends([], [2], [0], failure=CRASH)
    assert not sends([], [], [0])
    assert not sends([], [2], [0, 1])
    assert not sends([], [0], [0])


def test_one_case_that_failed_will_do() -> None:
    def run(ranks: int, cases: Sequence[Fit]) -> Launch:
        return launch(failed([[]] * RANKS))

    assert_shown_before_failing(run, CASES, lambda case, attempt: case.group == SEVERAL_STEPS)
    with pytest.raises(pytest.skip.Exception):
        assert_shown_before_failing(run, CASES, lambda case, attempt: False)


@pytest.mark.parametrize(
    ("ending", "is_shown"), [("1 / 0", True), ("raise ValueError", False), ("g(); raise E", False)]
)
def test_an_error_that_is_raised_on_purpose_shows_nothing(ending: str, is_shown: bool) -> None:
    detail = f'  File "sync_network.py", line 9, in fit\n    {ending}\nValueError'
    crashed = launch(failed([[]] * RANKS, replace(CRASH, detail=detail)))

    def check() -> None:
        assert_shown_before_failing(lambda ranks, cases: crashed, CASES, lambda c, a: True)

    if is_shown:
        check()
    else:
        with pytest.raises(pytest.skip.Exception):
            check()


def test_where_a_first_step_was_answered_its_values_tell() -> None:
    first = next(case for case in CASES[RANKS] if case.group == FIRST_STEP)
    answer = outcome(first, [{}] * RANKS, [{}] * RANKS)
    crashed = failed([[]] * RANKS)
    answered = make_launch([first, CASE], [answer, CRASH], RANKS, {1: crashed})
    with pytest.raises(pytest.skip.Exception):
        assert_shown_before_failing(lambda ranks, cases: answered, CASES, lambda c, a: True)


def test_a_program_that_waits_in_finalize_has_trained() -> None:
    done = call("Allreduce", STEP_NUM_BYTES)
    program = launch(failed([[done, pending("Finalize")], [done], [done]], HANG))
    assert_program_trains(program)
    with pytest.raises(RunFailed, match="it hangs"):
        assert_program_ends(program, ORDINARY)
    waiting = [pending("Allreduce")]
    with pytest.raises(RunFailed):
        assert_program_trains(launch(failed([[pending("Finalize")], waiting, waiting], HANG)))


def test_a_program_that_fails_as_fit_does_loses_nothing_for_its_end() -> None:
    crashed = launch(failed([[]] * RANKS))
    assert_program_ends(crashed, ORDINARY)
    hung = launch(failed([[]] * RANKS, HANG))
    elsewhere = replace(HANG, place="rank 1 fit.py:9")
    assert_program_ends(hung, launch(failed([[]] * RANKS, elsewhere)))
    other = replace(CRASH, kind="TypeError")
    with pytest.raises(RunFailed):
        assert_program_ends(launch(failed([[]] * RANKS, other)), ORDINARY)
    with pytest.raises(RunFailed):
        assert_program_ends(launch(failed([[call("Finalize")]] * RANKS)), ORDINARY)


def test_every_rank_of_a_program_must_call_finalize() -> None:
    def ended(calls: Sequence[Sequence[Call]]) -> Launch:
        answer = outcome(CASE, [{}] * RANKS, [{}] * RANKS)
        return make_launch([CASE], [replace(answer, trace=trace_of(calls))], RANKS)

    assert_program_ends(ended([[call("Finalize")]] * RANKS), ORDINARY)
    with raising(RuleViolation, "sync.not_finalized", rank=1):
        assert_program_ends(ended([[call("Finalize")], [], [call("Finalize")]]), ORDINARY)
