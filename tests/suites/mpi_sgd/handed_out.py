"""Whether ranks are given the sums of gradients, or the weights after a step that another took."""

import numpy as np

from grader.api import Outcome, RuleViolation, may_hold

from . import serial
from .first_step import first_gradient
from .fit_cases import Fit
from .reasons_first import call_facts, call_text
from .summing import gives, gradient_num_bytes

_FOR_EVERY_RANK = ("allreduce", "reduce_scatter", "allgather", "alltoall", "scan", "exscan")


def assert_no_rank_steps_for_others(case: Fit, outcome: Outcome) -> None:
    """Assert that no rank sends the weights of a first step to ranks that get no gradients.

    Where all ranks call a collective that gives sums to each of them, or one hands out the sums,
    they have them. Raises RuleViolation.
    """
    gradients = [first_gradient(case, outcome, rank) for rank in range(outcome.ranks)]
    summed = np.sum([serial.packed(each, case.sizes) for each in gradients], axis=0)
    stepped = outcome.inputs[0]["start"] - case.learning_rate * summed
    if outcome.ranks == 1 or _all_get_sums(case, outcome):
        return
    sent = [
        [each for each in seen.calls if gives(each) and each.sampled_num_bytes > 0]
        for seen in outcome.trace.ranks
    ]
    sums = [call.num_bytes for each in sent for call in each if may_hold(call, summed, scaled=True)]
    if 2 * sum(sums) >= gradient_num_bytes(case):
        return
    for rank, given in enumerate(sent):
        weights = [call for call in given if may_hold(call, stepped)]
        if 2 * sum(call.num_bytes for call in weights) >= gradient_num_bytes(case):
            raise RuleViolation.of(
                "sync.one_rank_steps",
                f"Rank {rank} took the step, and gave its new weights to {call_text(weights[0])}.",
                help="give every rank the summed gradients: each takes the step itself",
                **call_facts(rank, weights[0]),
            )


def _all_get_sums(case: Fit, outcome: Outcome) -> bool:
    def num_bytes(rank: int) -> int:
        calls = outcome.trace.ranks[rank].calls
        return sum(max(call.num_bytes, 0) for call in calls.where(calls.function_is(_is_for_all)))

    return all(2 * num_bytes(rank) >= gradient_num_bytes(case) for rank in range(outcome.ranks))


def _is_for_all(function: str) -> bool:
    name = function.removeprefix("I").lower()
    return name.startswith(_FOR_EVERY_RANK)
