"""Which of the usual mistakes gives exactly the weights that a synchronous training ends with."""

from collections.abc import Sequence

import numpy as np

from grader.api import Finding, Outcome, found

from . import serial
from .first_step import mistakes_in_first_step
from .fit_cases import RTOL, Fit, examples


def mistakes(
    case: Fit,
    outcome: Outcome,
    batches: Sequence[Sequence[np.ndarray]],
    rank: int,
    name: str,
) -> list[Finding]:
    """Return the mistake that would give exactly these weights, if one of the usual does."""
    if outcome.ranks == 1:
        return []
    if case.num_steps == 1:
        return mistakes_in_first_step(case, outcome, rank, name)
    start, rate = outcome.inputs[0]["start"], case.learning_rate
    together = unions(outcome, batches)
    own = [examples(outcome, rank, rows) for rows in batches[rank]]
    held = serial.packed({name: outcome[name][rank] for name in case.shapes}, case.sizes)

    def holds(likely: serial.Vector) -> bool:
        return bool((np.abs(held - likely) <= RTOL).all())

    if holds(start):
        text = f"Rank {rank} ended with its start weights: it took no step."
        return [found("sync.no_step", text, rank=rank)]
    if holds(serial.train(start, case.sizes, rate / outcome.ranks, together)):
        text = f"Rank {rank} took its steps with the mean of the gradients."
        helps = "the sum over all ranks is required: do not divide"
        return [found("sync.mean", text, help=helps, rank=rank)]
    if holds(serial.train(start, case.sizes, rate, own)):
        text = (
            f"Rank {rank} took its steps with its own gradients only, not with the sum "
            "over all ranks."
        )
        return [found("sync.own_gradients_only", text, rank=rank)]
    if holds(serial.train(start, case.sizes, rate, together, keeps_sums=True)):
        text = f"On rank {rank}, each step added its sums to the previous step's."
        helps = "nabla_b and nabla_w must start from zero in every step"
        return [found("sync.sums_kept", text, help=helps, rank=rank)]
    return []


def unions(
    outcome: Outcome, batches: Sequence[Sequence[np.ndarray]]
) -> list[tuple[serial.Vector, serial.Vector]]:
    """Return the examples of each step: those of all ranks together."""
    return [
        examples(outcome, 0, np.concatenate(rows_by_rank))
        for rows_by_rank in zip(*batches, strict=True)
    ]
