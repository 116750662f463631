"""A wrong all-reduce is told by what recv holds instead."""

import re
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

from grader.grading_plugin.case_evidence import EvidenceCollector
from grader.judge.check_failures import RuleViolation, WrongAnswer
from grader.model.report import TestResult, Verdict
from grader.trace.calls import ANY_SOURCE

from ...judge.build import outcome, trace_of
from .outcomes import call, inputs_of, raising

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
    ("wrong", "key", "told"),
    [
        (lambda s, right: np.full_like(right, 777), "allreduce.recv_untouched", "777"),
        (lambda s, right: right + 777, "allreduce.old_recv_reduced", "777"),
        (lambda s, right: s[0] + s[1] + 777, "allreduce.old_recv_reduced", "777"),
        (lambda s, right: right * 3, "allreduce.multiple_of_sum", "exactly n = 3 times"),
        (lambda s, right: right / 3, "allreduce.mean", "3 ranks"),
        (lambda s, right: s[1], "allreduce.only_own_numbers", "rank 1"),
        (lambda s, right: s[0] + s[1], "allreduce.numbers_missing", "rank 2"),
        (lambda s, right: s[0] * 2 + s[1], "allreduce.counted_twice", "rank 0 .*twice.* rank 2"),
        (lambda s, right: right + 2 * s[2], "allreduce.counted_twice", "rank 2 .*3 times"),
        (lambda s, right: s[0] * 4 + s[1], "allreduce.other_numbers", "rank 0 .*4 times"),
        (lambda s, right: np.roll(right, 80), "allreduce.chunk_elsewhere", r"\[160\]"),
    ],
)
def test_a_wrong_sum_is_told_by_what_is_in_it(wrong, key: str, told: str) -> None:
    with raising(WrongAnswer, key, rank=1) as error:
        assert_reduced(PLAIN, made(PLAIN, wrong))
    reason, *others = error.value.findings
    assert error.value.case == "3 ranks, length 240, np.add, float64"
    assert re.search(told, reason.text)
    if others:
        assert others[-1].key == "value.differs" and error.value.differences[0].made_of
    with pytest.raises(WrongAnswer):
        assert_right(PLAIN, made(PLAIN, wrong))


@pytest.mark.parametrize(
    ("wrong", "facts"),
    [
        (lambda s, right: right * 3, {"factor": 3.0}),
        (lambda s, right: s[0] + s[1], {"missing": (2,)}),
        (lambda s, right: s[2], {"missing": (0, 1)}),
        (lambda s, right: s[0] * 2 + s[1], {"counted": 0}),
        (lambda s, right: right + 2 * s[2], {"counted": 2}),
        (lambda s, right: np.roll(right, 80), {"belongs_to": 160}),
    ],
)
def test_facts_say_whose_numbers_are_in_a_wrong_sum(wrong, facts) -> None:
    with raising(WrongAnswer, **facts):
        assert_reduced(PLAIN, made(PLAIN, wrong))


def test_a_sum_that_nothing_explains_is_wrong_all_the_same() -> None:
    with raising(WrongAnswer, "allreduce.other_result", "value.differs", rank=1, op="np.add"):
        assert_reduced(PLAIN, made(PLAIN, lambda s, right: right + np.pi))


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
        (0, "it lacks the contribution of rank 1"),
        (1, "it lacks the contribution of rank 2"),
        (2, "it lacks the contribution of rank 0"),
    ]


def test_what_does_not_divide_and_is_left_out_is_told() -> None:
    case = next(case for case in CASES[3] if case.shape == (97,))
    with raising(WrongAnswer, "ring.tail_left_out", length=97, ranks=3, left_out=1) as error:
        assert_reduced(case, made(case, lambda s, right: np.append(right[:-1], s[1][-1])))
    assert error.value.findings[1].key == "allreduce.only_own_numbers"


def test_a_chunk_that_was_read_too_early_comes_before_what_it_led_to() -> None:
    receive = call("Irecv", 640, peer=0, line=7)
    pending = trace_of([[], [replace(receive, completed_ns=0)], []])
    found = made(PLAIN, lambda s, right: s[1], trace=pending)
    early, held = "allreduce.read_before_wait", "allreduce.only_own_numbers"
    with raising(WrongAnswer, early, held, "value.differs") as error:
        assert_reduced(PLAIN, found)
    assert error.value.findings[0].places == ("sync_network.py:7",)
    found = made(PLAIN, lambda s, right: s[1], trace=trace_of([[], [receive], []]))
    with raising(WrongAnswer, held, early, "value.differs"):
        assert_reduced(PLAIN, found)


def test_a_send_that_was_overwritten_is_told_beside_a_wrong_result() -> None:
    found = made(PLAIN, lambda s, right: s[0] + s[1])
    changed = tuple({**each, "send": each["send"] + 1} for each in found.results)
    keys = "allreduce.numbers_missing", "allreduce.send_overwritten", "value.differs"
    with raising(WrongAnswer, *keys):
        assert_reduced(PLAIN, replace(found, results=changed))


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        (lambda sends: sum(sends), "op.sum_instead"),
        (lambda sends: sends[1], "allreduce.only_own_numbers"),
        (lambda sends: np.maximum.reduce([*sends, np.zeros_like(sends[0])]), "op.zero_reduced"),
    ],
)
def test_another_op_is_told(wrong, key: str) -> None:
    case = of_op("np.maximum")
    facts = {"op": "np.maximum"} if key.startswith("op.") else {}
    with raising(WrongAnswer, key, "value.differs", rank=1, **facts):
        assert_reduced(case, made(case, lambda sends, right: wrong(sends)))


def test_a_result_that_a_collective_brought_does_not_count() -> None:
    trace = trace_of([[], [call("Allreduce", 1920, line=4)], []])
    found = made(PLAIN, lambda sends, right: right, trace=trace)
    assert_reduced(PLAIN, found)
    facts = {"rank": 1, "call": "Allreduce", "place": "sync_network.py:4"}
    with raising(RuleViolation, "allreduce.result_by_collective", **facts):
        assert_reduced_by_messages(PLAIN, found)
    barrier = trace_of([[], [call("Barrier")], []])
    assert_reduced_by_messages(PLAIN, replace(found, trace=barrier))


def test_a_changed_send_is_a_mistake_of_its_own() -> None:
    found = made(PLAIN, lambda sends, right: right)
    assert_send_unchanged(PLAIN, found)
    changed = tuple({**each, "send": each["send"] + 1} for each in found.results)
    keys = "allreduce.send_overwritten", "value.changed_by_call"
    with raising(WrongAnswer, *keys, rank=0):
        assert_send_unchanged(PLAIN, replace(found, results=changed))


def test_a_rank_that_is_not_on_comm_is_told() -> None:
    (case,) = (case for case in CASES[5] if isinstance(case, GroupReduction))
    inputs = inputs_of(case, 5)
    sums = [case.reduce_serially([inputs[i] for i in case.members(r, 5)]) for r in range(5)]
    assert_reduced(case, outcome(case, inputs, [{"recv": each} for each in sums]))
    everybody = case.reduce_serially(inputs)
    with raising(WrongAnswer, "comm.reduced_over_all", "value.differs", rank=0) as error:
        assert_reduced(case, outcome(case, inputs, [{"recv": everybody}] * 5))
    assert error.value.findings[0].help
    others = [{"recv": each + 1} for each in sums]
    with raising(WrongAnswer, "comm.wrong_on_some_ranks", "value.differs"):
        assert_reduced(case, outcome(case, inputs, others))


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
    keys = "calls.any_source", "calls.wrong_in_a_row", "value.differs"
    with raising(WrongAnswer, *keys, rank=1, call="Irecv", place="sync_network.py:9") as error:
        assert_reduced(case, found)
    assert error.value.case.startswith("4 ranks, 40 calls in a row, length 240")
    _, wrong, numbers = error.value.findings
    assert wrong.facts == {"rank": 1, "number": 7}
    assert re.search("rank 3 .*rank 2's array of call 8", wrong.text)
    assert "call 7: rank 1: recv[0] is" in numbers.text


def test_a_timed_reduction_is_checked_like_any_other() -> None:
    case = next(case for case in CASES[2] if case.purpose == "timing")
    inputs = inputs_of(case, 2)
    right = case.reduce_serially(inputs)
    assert right.shape == case.shape
    assert len(np.unique(right)) > 0.999 * right.size, "one part may stand for another"
    assert_reduced(case, outcome(case, inputs, [{"recv": right}] * 2))
    with pytest.raises(WrongAnswer):
        assert_reduced(case, outcome(case, inputs, [{"recv": right}, {"recv": right + 1}]))
