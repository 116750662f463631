"""Which messages are altered to see whether models come from them, and what follows."""

import numpy as np
import pytest
from federated import lenet
from federated.origins import assert_models_come_from_messages
from federated.training_cases import Training

from grader.judge.findings import NotProven, WrongAnswer
from grader.model import Outcome
from grader.suite.launch_view import make_launch
from grader.trace.calls import NO_PEER, Call, RankTrace, Trace

CASE = Training("train", file="dist.py", num_training=100)
RANKS, NUM_STEPS = 3, 2
MODEL = lenet.MODEL_NUM_BYTES


def send(sequence, peer, num_bytes):
    return Call(
        sequence=sequence,
        function="Send",
        peer=peer,
        tag=0,
        communicator=0,
        communicator_size=RANKS,
        num_elements=num_bytes,
        num_bytes=num_bytes,
        entered_ns=1,
        left_ns=2,
        completed_ns=2,
        is_send=True,
        is_receive=False,
        creates_request=False,
        request_freed=False,
        cancelled=False,
        synchronous=False,
        pickled=True,
        matched_source=NO_PEER,
        matched_tag=0,
        received_num_bytes=-1,
        failed_polls=0,
        waits_for=(),
        phase=1,
        error=0,
        file="dist.py",
        line=10 + sequence,
    )


def trace_of(lengths_by_rank):
    """Workers send to the server."""
    ranks = []
    for rank in range(RANKS):
        calls = [send(i, 0, length) for i, length in enumerate(lengths_by_rank.get(rank, ()))]
        state = {"attached": True, "initialised": True, "finalised": False, "truncated": False}
        state |= {"inside": -1, "polling": False, "progress": 0, "num_failed_polls": 0}
        ranks.append(RankTrace(rank=rank, calls=tuple(calls), **state))
    return Trace(tuple(ranks))


class Script:
    """depends: whether training goes wrong when messages are altered."""

    def __init__(self, lengths_by_rank, depends=True):
        self.trace = trace_of(lengths_by_rank)
        self.depends = depends
        self.orders = []

    def run(self, ranks, cases):
        self.orders += [case.altered_message for case in cases if case.altered_message]
        return make_launch(cases, [self.outcome(case) for case in cases], ranks)

    def outcome(self, case):
        altered = case.altered_message is not None
        result = {"right": not (altered and self.depends)}
        given = {"labels": np.arange(3)}
        return Outcome(
            case.label, RANKS, (given,) * RANKS, (result,) * RANKS, self.trace, 0.1, int(altered)
        )

    def judge(self, senders=(1, 2)):
        assert_models_come_from_messages(self.run, (CASE,), RANKS, senders, NUM_STEPS, check)


def check(case, outcome):
    if not all(outcome["right"]):
        raise WrongAnswer("another model")


GRADIENTS = (8, MODEL, 8, MODEL)
ONE_BY_ONE = (8, 192_000, 40_000, 3_000) * NUM_STEPS


@pytest.mark.parametrize("lengths", [GRADIENTS, ONE_BY_ONE])
def test_training_that_depends_on_messages_is_proven(lengths):
    """Each sender's longer messages are altered together, and numbers beside them are not."""
    script = Script({1: lengths, 2: lengths})
    script.judge()
    assert {order.rank for order in script.orders} == {1, 2}
    assert all(order.number is None for order in script.orders)
    assert all(8 < order.min_num_bytes <= 192_000 for order in script.orders)


def test_training_that_does_not_is_not_proven():
    """The first sender is named, with the line of its first message of that length."""
    script = Script({1: GRADIENTS, 2: GRADIENTS}, depends=False)
    with pytest.raises(
        NotProven, match=r"all messages that rank [12] sends \(.* Send at dist.py:11\)"
    ):
        script.judge()


@pytest.mark.parametrize("lengths", [(), (8, 8), (8, MODEL)])
def test_models_that_went_by_collectives_are_left_alone(lengths):
    """A rank that sends fewer than it has to give gives the others in another way."""
    script = Script({1: lengths}, depends=False)
    script.judge()
    assert script.orders == []
