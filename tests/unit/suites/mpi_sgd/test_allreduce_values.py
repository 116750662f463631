"""A wrong all-reduce is told by what recv holds instead."""

from dataclasses import replace

import numpy as np
import pytest
from mpi_sgd.allreduce_cases import (
    GroupReduction,
    Reduction,
    ReductionsInARow,
    cases_by_ranks,
)
from mpi_sgd.allreduce_values import (
    assert_reduced,
    assert_reduced_by_messages,
    assert_right,
    assert_send_unchanged,
)

from grader.judge.check_failures import RuleViolation, WrongAnswer
from grader.model import TestResult, Verdict
from grader.suite.case_evidence import EvidenceCollector
from grader.trace.calls import ANY_SOURCE

from .outcomes import call, inputs_of, outcome, trace_of

CASES = cases_by_ranks("my_ring_allreduce.py", "ringallreduce")
PLAIN = next(case for case in CASES[3] if case.subject == "plain")
SILENT = trace_of([[], [], []])
WRONG = TestResult("test_a", "It is right.", Verdict.WRONG_ANSWER, 0, 1, "it is wrong")


def of_op(op: str) -> Reduction:
    return next(case for case in CASES[3] if case.op == op)


def made(case: Reduction, wrong, *, ranks: int = 3, trace=SILENT):
    """Return the outcome of a case in which rank 1 has another result: a function of the sends."""
    inputs = inputs_of(case, ranks)
    sends = [given["send"] for given in inputs]
    right = case.reduce_serially(inputs)
    results = [
        {"recv": wrong(sends, right) if rank == 1 else right, "send": sends[rank]}
        for rank in range(ranks)
    ]
    return replace(outcome(case, inputs, results), trace=trace)


def test_the_right_reduction_holds() -> None:
    for case in CASES[3]:
        if type(case) is Reduction and case.purpose == "values":
            found = made(case, lambda sends, right: right)
            assert_reduced(case, found)
            assert_right(case, found)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda s, right: np.full_like(right, 777), "recv still holds what it held before"),
        (lambda s, right: right + 777, "what recv held before the call, 777 everywhere, was red"),
        (lambda s, right: s[0] + s[1] + 777, r"missing in it and 777, which recv held before"),
        (lambda s, right: right * 3, "every element is exactly n = 3 times the expected one"),
        (lambda s, right: right / 3, "it is the mean over the 3 ranks, not the sum"),
        (lambda s, right: s[1], "only rank 1's own numbers are in it"),
        (lambda s, right: s[0] * 2 + s[1], "rank 0 are in it twice and those of rank 2 not at all"),
        (lambda s, right: np.roll(right, 80), r"it is the result that belongs to \[160\]: another"),
    ],
)
def test_a_wrong_sum_is_told_by_what_is_in_it(wrong, told: str) -> None:
    with pytest.raises(WrongAnswer, match=rf"^3 ranks, length 240, np\.add, float64: .*{told}"):
        assert_reduced(PLAIN, made(PLAIN, wrong))
    with pytest.raises(WrongAnswer):
        assert_right(PLAIN, made(PLAIN, wrong))


def test_each_rank_is_told_whose_numbers_are_in_its_own_array() -> None:
    inputs = inputs_of(PLAIN, 3)
    sends = [given["send"] for given in inputs]
    results = [
        {"recv": sends[rank] + sends[rank - 1], "send": sends[rank]} for rank in range(len(sends))
    ]
    found = replace(outcome(PLAIN, inputs, results), trace=SILENT)
    with pytest.raises(WrongAnswer) as caught:
        assert_reduced(PLAIN, found)
    told = EvidenceCollector({}, is_kept=True).with_failure(WRONG, caught.value).evidence
    assert told is not None
    assert [(each.rank, each.made_of) for each in told.differences] == [
        (0, "the numbers of rank 1 are missing in it"),
        (1, "the numbers of rank 2 are missing in it"),
        (2, "the numbers of rank 0 are missing in it"),
    ]


def test_what_does_not_divide_and_is_left_out_is_told() -> None:
    case = next(case for case in CASES[3] if case.shape == (97,))
    with pytest.raises(
        WrongAnswer, match="97 elements are not divisible by 3: the last one was left out"
    ):
        assert_reduced(case, made(case, lambda s, right: np.append(right[:-1], s[1][-1])))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda sends: sum(sends), r"it is the sum, but op is np\.maximum"),
        (lambda sends: sends[1], "only rank 1's own numbers"),
        (lambda sends: np.maximum.reduce([*sends, np.zeros_like(sends[0])]), "a 0 was reduced"),
    ],
)
def test_another_op_is_told(wrong, told: str) -> None:
    case = of_op("np.maximum")
    with pytest.raises(WrongAnswer, match=told):
        assert_reduced(case, made(case, lambda sends, right: wrong(sends)))


def test_a_result_that_a_collective_brought_does_not_count() -> None:
    trace = trace_of([[], [call("Allreduce", 1920, line=4)], []])
    found = made(PLAIN, lambda sends, right: right, trace=trace)
    assert_reduced(PLAIN, found)
    with pytest.raises(RuleViolation, match=r"rank 1 calls Allreduce at sync_network\.py:4"):
        assert_reduced_by_messages(PLAIN, found)
    barrier = trace_of([[], [call("Barrier")], []])
    assert_reduced_by_messages(PLAIN, replace(found, trace=barrier))


def test_a_changed_send_is_a_mistake_of_its_own() -> None:
    found = made(PLAIN, lambda sends, right: right)
    assert_send_unchanged(PLAIN, found)
    changed = tuple({**each, "send": each["send"] + 1} for each in found.results)
    with pytest.raises(WrongAnswer, match="the call must leave send as it is"):
        assert_send_unchanged(PLAIN, replace(found, results=changed))


def test_a_process_that_is_not_on_comm_is_told() -> None:
    (case,) = (case for case in CASES[5] if isinstance(case, GroupReduction))
    inputs = inputs_of(case, 5)
    sums = [case.reduce_serially([inputs[i] for i in case.members(r, 5)]) for r in range(5)]
    assert_reduced(case, outcome(case, inputs, [{"recv": each} for each in sums]))
    everybody = case.reduce_serially(inputs)
    with pytest.raises(WrongAnswer, match="also of those that are not on comm; take rank, size"):
        assert_reduced(case, outcome(case, inputs, [{"recv": everybody}] * 5))


def test_a_message_of_the_next_call_is_told() -> None:
    (case,) = (case for case in CASES[4] if isinstance(case, ReductionsInARow))
    inputs = inputs_of(case, 4)
    sends = np.array([given["sends"] for given in inputs])
    sums = sends.sum(axis=0)
    assert_reduced(case, outcome(case, inputs, [{"recvs": sums}] * 4))
    wrong = sums.copy()
    wrong[6] += sends[2][7] - sends[3][6]
    receive = replace(call("Irecv", 1920, line=9), peer=ANY_SOURCE)
    results = [{"recvs": each} for each in (sums, wrong, sums, sums)]
    found = replace(outcome(case, inputs, results), trace=trace_of([[], [receive], [], []]))
    with pytest.raises(WrongAnswer) as raised:
        assert_reduced(case, found)
    for told in (
        "4 ranks, 40 calls in a row, length 240",
        ": call 7: rank 1: recv[0] is",
        "the numbers of rank 3 are missing in it and rank 2's array of call 8 is in it, too",
        "rank 1's Irecv at sync_network.py:9 takes a message from any source",
    ):
        assert told in str(raised.value)


def test_a_timed_reduction_is_checked_like_any_other() -> None:
    case = next(case for case in CASES[2] if case.purpose == "timing")
    inputs = inputs_of(case, 2)
    right = case.reduce_serially(inputs)
    assert right.shape == case.shape
    assert len(np.unique(right)) > 0.999 * right.size, "one part may stand for another"
    assert_reduced(case, outcome(case, inputs, [{"recv": right}] * 2))
    with pytest.raises(WrongAnswer):
        assert_reduced(case, outcome(case, inputs, [{"recv": right}, {"recv": right + 1}]))
