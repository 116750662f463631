"""All-reduces with altered messages: honest ones are proven, decoys are not."""

from dataclasses import replace

import numpy as np
import pytest
from mpi_sgd import allreduce_cases
from mpi_sgd.allreduce_cases import ALTERED_RANKS, cases_by_ranks, effects_of_altering

from grader.judge.causality import assert_messages_matter, assert_some_message_matters
from grader.judge.findings import NotProven, WrongAnswer
from grader.suite.launch_view import make_launch

from .outcomes import call, inputs_of, outcome, trace_of

CASES = cases_by_ranks("my_naive_allreduce.py", "allreduce")
OTHERS = {r: [o for o in range(ALTERED_RANKS) if o != r] for r in range(ALTERED_RANKS)}


def sent(rank):
    sends = (call("Isend", 8000, peer=other, line=20 + other) for other in OTHERS[rank])
    return [replace(each, is_send=True) for each in sends]


class NaiveAllReduce:
    """answer: the recv of a rank, from what is right and from whether it got an altered message."""

    def __init__(self, answer):
        self.answer = answer
        self.launches = []

    def run(self, ranks, cases):
        assert ranks == ALTERED_RANKS
        self.launches.append(cases)
        return make_launch(cases, [self.outcome(case) for case in cases], ranks)

    def outcome(self, case):
        inputs = inputs_of(case, ALTERED_RANKS)
        if case.purpose != "values":
            return outcome(case, inputs, [{}] * ALTERED_RANKS)
        right, order = case.reduce_serially(inputs), case.altered_message
        receiver = None if order is None else OTHERS[order.rank][order.number]
        recvs = [self.answer(right, rank == receiver) for rank in range(ALTERED_RANKS)]
        made = outcome(case, inputs, [{"recv": recv, "send": recv} for recv in recvs])
        trace = trace_of([sent(rank) for rank in range(ALTERED_RANKS)])
        return replace(made, trace=trace, num_altered=int(order is not None))


def honest(right, got_an_altered_message):
    return right + (np.arange(right.size) == 7) if got_an_altered_message else right


def decoy(right, got_an_altered_message):
    return right


def test_each_message_reaches_its_receiver():
    """The case is a sum in which every element counts, and which the ranks divide evenly."""
    submission = NaiveAllReduce(honest)
    unaltered, effects = effects_of_altering(submission.run, CASES)
    assert_messages_matter(unaltered.trace, effects)
    assert_some_message_matters(effects)
    for effect in effects:
        assert effect.influenced == {OTHERS[effect.message.rank][effect.message.number]}
    assert len(effects) == 2 * (ALTERED_RANKS - 1)
    altered = submission.launches[-1][0]
    assert altered.op in ("np.add", "MPI.SUM")
    assert altered.num_elements % ALTERED_RANKS == 0


def test_decoys_are_not_proven():
    """The sentence names the line that sent the first of them."""
    unaltered, effects = effects_of_altering(NaiveAllReduce(decoy).run, CASES)
    with pytest.raises(NotProven, match="no answer changed"):
        assert_some_message_matters(effects)
    with pytest.raises(NotProven, match=r"message \(Isend at .*:2[0-3]\) was altered"):
        assert_messages_matter(unaltered.trace, effects)


def test_an_answer_that_is_always_wrong_is_no_influence():
    """What is wrong without an alteration is a wrong answer."""
    with pytest.raises(WrongAnswer):
        effects_of_altering(NaiveAllReduce(lambda right, altered: right + 1).run, CASES)


def test_there_is_one_case_to_alter():
    """A second one of that shape would make the choice ambiguous."""
    cases = CASES[ALTERED_RANKS]
    shape = allreduce_cases._ALTERED_SHAPE
    assert sum(case.shape == shape and not case.synchronous_sends for case in cases) == 1
