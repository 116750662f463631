"""Code that fails before there is a result is paid for its first calls, by mistake alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lenet_eyeriss.first_steps import (
    assert_begins,
    begins_with_chunks,
    begins_with_gradients,
    passes_chunks_on,
)
from lenet_eyeriss.serial import NUM_PARAMETERS
from lenet_eyeriss.sum_checks import assert_goes_all_the_way_round
from lenet_eyeriss.training_cases import Training, alone_case, ring_cases

from grader.api import Attempt, Call, Finding, Launch, Outcome, RunFailure, Verdict
from grader.grading_plugin.launch_results import make_launch

from ...judge.build import outcome, trace_of
from .building import call

RANKS = 4
ALONE = alone_case("ring_allreduce.py")
GRADIENTS = np.arange(1, NUM_PARAMETERS + 1, dtype=np.float32)
ARRIVING = np.arange(1 << 18, 1 << 19, dtype=np.float32)
CASES: Mapping[int, Sequence[Training]] = {RANKS: ring_cases(RANKS)[:1]}


def crash(kind: str, line: str = "total[5] += 1") -> RunFailure:
    """Return a crash of this type in this line; one without a type has no facts."""
    findings = (Finding("crash.raised", "", facts={"type": kind} if kind else {}),)
    detail = f'  File "ring_allreduce.py", line 9, in average_gradients\n    {line}\n{kind}: no'
    return RunFailure(Verdict.RUN_TIME_ERROR, "it crashed", detail, findings=findings)


def gave(given: np.ndarray, averaged: Sequence[np.ndarray] = ()) -> Outcome:
    """Return what came of ranks alone that all gave this, and ended with a row or with none."""
    rows = np.reshape(averaged, (len(averaged), NUM_PARAMETERS))
    results = {"own": GRADIENTS, "given": given, "averaged": rows}
    return outcome(ALONE[0], [{"arriving": ARRIVING}] * RANKS, [results] * RANKS)


def begins(failure: RunFailure, given: np.ndarray = GRADIENTS[:38]) -> bool:
    """Return whether ranks that send a chunk round and then fail so have begun."""
    calls = [[call("isend", 38, (rank + 1) % RANKS)] for rank in range(RANKS)]
    attempt = Attempt(RANKS, (), trace_of(calls), failure)

    def run(ranks: int, cases: Sequence[Any]) -> Launch:
        if cases is ALONE:
            return make_launch(cases, [gave(given)], ranks, {})
        return make_launch(cases, [failure], ranks, {0: attempt})

    try:
        assert_begins(
            run,
            CASES,
            ALONE,
            assert_goes_all_the_way_round,
            begins_with_chunks,
            passes_chunks_on,
        )
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("kind", ["IndexError", "AssertionError", "DistBackendError"])
def test_a_mistake_may_follow(kind: str) -> None:
    assert begins(crash(kind))
    assert begins(replace(crash(kind), verdict=Verdict.DEADLOCK))


@pytest.mark.parametrize("kind", ["OSError", "PermissionError", "SystemError", "gaierror", ""])
def test_what_is_refused_by_the_system_shows_nothing(kind: str) -> None:
    assert not begins(crash(kind))


def test_zeros_are_no_beginning() -> None:
    assert not begins(crash("IndexError"), np.zeros(38, np.float32))


def test_what_is_received_must_be_passed_on_by_code_that_ends() -> None:
    """In a rank alone; without its own gradients, it must end with what it has received, too."""
    first, zeros = GRADIENTS[:38], np.zeros(38, np.float32)
    arrived = np.resize(ARRIVING, NUM_PARAMETERS)
    own, ring = gave(first, [GRADIENTS]), gave(np.append(first, first + ARRIVING[:38]), [GRADIENTS])
    assert not passes_chunks_on(own, 0)
    assert passes_chunks_on(ring, 0)
    of_zeros = np.append(zeros, ARRIVING[:38])
    assert passes_chunks_on(gave(of_zeros, [arrived / RANKS]), 0)
    assert not passes_chunks_on(gave(of_zeros, [GRADIENTS]), 0)
    assert not passes_chunks_on(gave(of_zeros), 0)


def test_an_error_that_is_raised_on_purpose_shows_nothing() -> None:
    assert not begins(crash("ValueError", "raise ValueError"))
    assert not begins(crash("ValueError", "dist.all_reduce(zeros); raise ValueError"))


def calls_of(length: int) -> list[list[Call]]:
    """Return a first send to the right of so many elements, on each rank."""
    return [[call("isend", length, (rank + 1) % RANKS)] for rank in range(RANKS)]


@pytest.mark.parametrize(
    ("length", "is_gradient", "is_chunk"),
    [
        (150, True, False),  # c1.weight
        (10, True, False),  # output.bias
        (850, True, False),  # output, both
        (NUM_PARAMETERS, True, False),
        (212, True, True),  # a chunk of output
        (210, True, True),  # a chunk of output.weight
        (NUM_PARAMETERS // RANKS, True, True),
        (1, False, False),
        (2, False, False),
        (100_000, False, False),
    ],
)
def test_gradients_and_chunks_are_known_by_length(length, is_gradient, is_chunk) -> None:
    assert begins_with_gradients(calls_of(length)) is is_gradient
    assert begins_with_chunks(calls_of(length)) is is_chunk
