"""What is paid where no result is right: a step, an exchange, broadcasts in turn; and what not."""

from dataclasses import replace

import numpy as np
import pytest
from mpi_sgd.allreduce_cases import cases_by_ranks
from mpi_sgd.allreduce_stages import (
    assert_arrays_are_sent,
    assert_arrays_come_together,
    assert_broadcasts_in_turn,
    assert_exchange_has_begun,
    assert_name_is_misspelt,
    assert_neighbours_are_sent_to,
    assert_right_by_messages,
    assert_ring_has_begun,
    assert_ring_is_complete,
    assert_ring_is_not_waited_for,
    assert_sums_go_around_a_ring,
)

from grader.grading_plugin.launch_results import RunFailed, make_launch
from grader.judge.check_failures import CheckFailure
from grader.model.finding import Finding
from grader.model.report import Attempt, RunFailure, Verdict

from ...judge.build import outcome, trace_of
from .outcomes import call, inputs_of

CASES = cases_by_ranks("my_ring_allreduce.py", "ringallreduce")
ARRAY = 240 * 8
ENDED = {
    verdict: RunFailure(verdict, "it ended")
    for verdict in (Verdict.DEADLOCK, Verdict.RULE_VIOLATION)
}


class Code:
    """An all-reduce by its calls and its results.

    calls: of a rank of n. answer: the recv of a rank, of what is right and whether it was altered.
    ended: why no plain case has an answer. mended: the calls with misspelt names mended. unwaited:
    those that are made if nothing is waited for.
    """

    def __init__(self, calls, answer=None, ended=None, mended=None, unwaited=None):
        self.calls, self.answer, self.ended = calls, answer, ended
        self.again = {"reduce_mended": mended, "reduce_unwaited": unwaited}

    def run(self, ranks, cases):
        if calls := self.again.get(cases[0].probe):
            return Code(calls, self.answer or wrong).run(ranks, cases)
        answers, unfinished = [], {}
        for number, case in enumerate(cases):
            inputs = inputs_of(case, ranks)
            trace = trace_of([self.calls(rank, ranks) for rank in range(ranks)])
            answers.append(self.ended or self.outcome(case, inputs, trace))
            if self.ended:
                unfinished[number] = Attempt(ranks, tuple(inputs), trace, self.ended)
        return make_launch(cases, answers, ranks, unfinished)

    def outcome(self, case, inputs, trace):
        if case.probe not in ("reduce_once", "reduce_watched", *self.again):
            return outcome(case, inputs, [{}] * len(inputs))
        right, fault = case.reduce_serially(inputs), case.message_fault
        recvs = [self.answer(right, fault is not None) for _ in inputs]
        results = [
            {"recv": recv, "send": given["send"], "meant": np.zeros(0)}
            for recv, given in zip(recvs, inputs, strict=True)
        ]
        made = outcome(case, inputs, results)
        return replace(made, trace=trace, num_altered=int(fault is not None))


def right(answer, is_altered):
    return answer + is_altered


def wrong(answer, is_altered):
    return answer + 1 + is_altered


def constant(answer, is_altered):
    return np.zeros_like(answer)


def ring(num_steps, *, share=1, receives=True, step=1):
    """Return the calls of so many steps, of chunks or of a multiple of them."""

    def calls(rank, ranks):
        size = share * ARRAY // ranks
        there, back = (rank + step) % ranks, (rank - step) % ranks
        made = [call("Isend", size, peer=there), call("Irecv", size, peer=back)]
        return made[: 1 + receives] * (num_steps or 2 * (ranks - 1))

    return calls


def exchange(rank, ranks):
    others = [other for other in range(ranks) if other != rank]
    return [call(name, ARRAY, peer=other) for other in others for name in ("Isend", "Irecv")]


def star(rank, ranks):
    sends = [call("Isend", ARRAY, peer=0)] if rank else []
    return [*sends, call("Bcast", ARRAY, peer=0)]


def broadcasts(rank, ranks):
    return [call("Bcast", ARRAY, peer=root) for root in range(ranks)]


def nothing(rank, ranks):
    return []


def left(calls):
    """Return the same calls with receives that are never waited for."""

    def made(rank, ranks):
        return [
            replace(each, completed_ns=0 if each.is_receive else 2) for each in calls(rank, ranks)
        ]

    return made


def without_rank_1(calls):
    return lambda rank, ranks: [] if rank == 1 else calls(rank, ranks)


def holds(stage, code):
    try:
        stage(code.run, CASES)
    except (CheckFailure, RunFailed, pytest.skip.Exception):
        return False
    return True


HANGS, REFUSED = ENDED.values()
RAISES = RunFailure(
    Verdict.RUN_TIME_ERROR,
    "it ended",
    detail='  File "ring.py", line 9, in f\n    raise ValueError',
)


@pytest.mark.parametrize(
    ("code", "is_shown"),
    [
        (Code(ring(1), ended=HANGS), True),
        (Code(ring(1, step=-1), ended=HANGS), True),
        (Code(without_rank_1(ring(1)), ended=HANGS), True),
        (Code(left(ring(None)), right), True),
        (Code(left(ring(None)), constant), False),
        (Code(ring(1), ended=RAISES), False),
        (Code(ring(3), wrong), True),
        (Code(ring(3), constant), False),
        (Code(ring(1), ended=REFUSED), False),
        (Code(ring(1), ended=replace(HANGS, kind="exception: FileNotFoundError: x")), False),
        (Code(ring(1, share=4), ended=HANGS), False),
        (Code(nothing, ended=HANGS), False),
    ],
)
def test_a_ring_has_begun(code, is_shown):
    """By its first step where it ends there; else by results that depend on messages."""
    assert holds(assert_ring_has_begun, code) == is_shown


def test_receives_come_first_in_some_rings():
    def receives(rank, ranks):
        return ring(1)(rank, ranks)[1:]

    hangs = Code(receives, ended=HANGS, unwaited=ring(None))
    assert holds(assert_ring_has_begun, hangs)


@pytest.mark.parametrize("stage", [assert_ring_has_begun, assert_exchange_has_begun])
@pytest.mark.parametrize("unwaited", [nothing, ring(1)])
def test_who_only_asks_for_messages_has_not_begun(stage, unwaited):
    """Without waiting, too little would be sent."""

    def receives(rank, ranks):
        return [call("Recv", ARRAY // ranks, peer=(rank - 1) % ranks)]

    assert not holds(stage, Code(receives, ended=HANGS, unwaited=unwaited))


def test_a_ring_is_complete():
    """With all its steps, and results that follow from them."""
    assert holds(assert_ring_is_complete, Code(ring(None), wrong))
    assert not holds(assert_ring_is_complete, Code(ring(3), wrong))
    assert not holds(assert_ring_is_complete, Code(ring(None), constant))
    assert not holds(assert_ring_is_complete, Code(ring(None), ended=HANGS))


@pytest.mark.parametrize("calls", [ring(None), ring(3), exchange])
def test_messages_of_unknown_contents_sum_nothing_up(calls):
    """The labelled hand-in of this stage has its contents."""
    assert not holds(assert_sums_go_around_a_ring, Code(calls, right))


def test_a_ring_is_not_waited_for():
    """With all its sends, and results that do not tell what they would have led to."""
    assert holds(assert_ring_is_not_waited_for, Code(left(ring(None)), wrong))
    assert not holds(assert_ring_is_not_waited_for, Code(left(ring(1)), wrong))
    assert not holds(assert_ring_is_not_waited_for, Code(left(ring(None)), constant))
    assert not holds(assert_ring_is_not_waited_for, Code(ring(None), wrong))
    assert not holds(assert_ring_is_not_waited_for, Code(ring(None), ended=HANGS))


def test_right_results_by_messages_need_be_no_ring():
    """Whole arrays from everybody or from one neighbour, or pieces of any size."""
    relay = Code(ring(3, share=4), right)
    naive = Code(exchange, right)
    for code in relay, naive, Code(ring(None), right):
        assert holds(assert_right_by_messages, code)
    for code in Code(exchange, wrong), Code(exchange, constant):
        assert not holds(assert_right_by_messages, code)


def test_sending_alone_is_worth_little():
    """But not beside right results that come another way."""
    assert holds(assert_neighbours_are_sent_to, Code(ring(3, receives=False), constant))
    assert holds(assert_arrays_are_sent, Code(exchange, constant))
    assert not holds(assert_arrays_are_sent, Code(ring(3), constant))
    decoys = Code(exchange, lambda answer, is_altered: answer)
    assert not holds(assert_arrays_are_sent, decoys)
    assert not holds(assert_neighbours_are_sent_to, decoys)


def test_an_exchange_has_begun():
    """Only what has an end before its results is judged by its calls alone."""
    assert holds(assert_exchange_has_begun, Code(exchange, ended=HANGS))
    assert holds(assert_exchange_has_begun, Code(left(exchange), right))
    assert not holds(assert_exchange_has_begun, Code(left(exchange), constant))
    assert not holds(assert_exchange_has_begun, Code(exchange, wrong))
    assert not holds(assert_exchange_has_begun, Code(exchange, ended=REFUSED))
    assert not holds(assert_exchange_has_begun, Code(exchange, ended=RAISES))


def test_a_misspelt_name_is_told_by_what_was_meant():
    """Of a call that sends, receives or waits; with the right name, all that is needed is sent."""

    def stops(meant, mended, calls=nothing, line="comm.Isned(chunk, dest=right)"):
        told = Finding("crash.attribute_error", "", {"meant": meant})
        detail = f'  File "ring.py", line 9, in f\n    {line}\nAttributeError: no such name'
        ended = RunFailure.of(Verdict.RUN_TIME_ERROR, told, detail=detail)
        return Code(calls, constant, ended=ended, mended=mended)

    for all_reduce in ring(None), exchange:
        assert holds(assert_name_is_misspelt, stops("Isend", all_reduce))
        assert holds(assert_name_is_misspelt, stops("Waitall", all_reduce, ring(1)))
        assert not holds(assert_name_is_misspelt, stops("Allreduce", all_reduce))
        raises = stops("Isend", all_reduce, line="raise ValueError")
        assert not holds(assert_name_is_misspelt, raises)
    for once in nothing, ring(1), ring(1, share=2):
        assert not holds(assert_name_is_misspelt, stops("Isend", once))
        assert not holds(assert_ring_has_begun, stops("Isend", once))
    assert holds(assert_neighbours_are_sent_to, stops("Isend", ring(1)))
    assert not holds(assert_neighbours_are_sent_to, stops("Isend", nothing))
    assert not holds(assert_name_is_misspelt, Code(exchange, ended=HANGS))
    assert not holds(assert_name_is_misspelt, Code(exchange, wrong))


def test_arrays_come_together():
    """With wrong results that depend on them, or broadcast from where all were sent."""
    assert holds(assert_arrays_come_together, Code(exchange, wrong))
    assert holds(assert_arrays_come_together, Code(left(exchange), wrong))
    for code in Code(exchange, constant), Code(left(exchange), constant):
        assert not holds(assert_arrays_come_together, code)
    assert not holds(assert_arrays_come_together, Code(ring(1, share=4), wrong))
    assert holds(assert_arrays_come_together, Code(star, right))
    assert not holds(assert_arrays_come_together, Code(star, lambda answer, is_altered: answer))
    assert not holds(assert_arrays_come_together, Code(broadcasts, right))


def test_broadcasts_in_turn():
    """Of all ranks, and the results follow from each."""
    assert holds(assert_broadcasts_in_turn, Code(broadcasts, right))
    assert not holds(assert_broadcasts_in_turn, Code(broadcasts, wrong))
    assert not holds(assert_broadcasts_in_turn, Code(broadcasts, lambda answer, is_altered: answer))
    assert not holds(assert_broadcasts_in_turn, Code(star, right))
