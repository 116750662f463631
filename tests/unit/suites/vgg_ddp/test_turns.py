"""Whether ranks compute at the same time: in most drawn iterations, forward and backward."""

from dataclasses import replace

import numpy as np
import pytest
from vgg_ddp.probes.pausing import DrawnPauses
from vgg_ddp.shared_tests import assert_trained_at_once
from vgg_ddp.train_cases import NUM_PAUSED

from grader.api import RuleViolation
from grader.grading_plugin.launch_results import make_launch

from .trainings import case, outcome, right

LATE = case("late")
TOGETHER = np.arange(6).reshape(3, 2)


def spans(rank, num_in_turns):
    """Return three pauses for each iteration; in the first ones, ranks pause one after another."""
    turns = [i < num_in_turns for i in range(NUM_PAUSED)]
    return np.concatenate(
        [TOGETHER + 100 * i + 10 * rank * is_turn for i, is_turn in enumerate(turns)]
    )


def check(forward, backward):
    """Judge a training in so many of whose iterations a pass goes from rank to rank."""
    passes = {"paused_forward_ns": forward, "paused_backward_ns": backward}
    results = [
        {**each, **{name: spans(rank, number) for name, number in passes.items()}}
        for rank, each in enumerate(right(2))
    ]
    seen = replace(outcome(LATE, results), inputs=({"num_earlier_steps": 3},) * 2)
    assert_trained_at_once(lambda ranks, cases: make_launch(cases, [seen], 2), {4: (LATE,)})


@pytest.mark.parametrize("passes", [(0, 0), (1, 0), (1, 1)])
def test_turns_in_few_iterations_are_chance(passes):
    check(*passes)


@pytest.mark.parametrize("passes", [(2, 0), (0, 2), (3, 1), (1, 3)])
def test_turns_in_most_iterations_break_the_rule(passes):
    with pytest.raises(RuleViolation, match="took turns in computing"):
        check(*passes)


def test_a_rank_pauses_in_drawn_iterations_alone():
    torch = pytest.importorskip("torch")
    network = torch.nn.Linear(2, 1)
    pauses = DrawnPauses([(1, 1), (2, 0)])
    for iteration in range(3):
        pauses.forward(iteration)
        pauses.backward(iteration, network)
        network(torch.ones(1, 2)).backward()
    assert [len(each) for each in pauses.results().values()] == [6, 6]
