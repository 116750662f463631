"""Recognises the usual mistakes of psgd by the gradients and the weights that they leave behind."""

from collections.abc import Iterator

import numpy as np

from grader.api import Finding, Outcome, found

from . import softmax_regression
from .psgd_cases import Psgd, scales_of
from .softmax_regression import Vector
from .training_cases import (
    ATOL,
    GRADIENT_ATOL,
    Rows,
    examples,
    given_start,
    learned,
    softmax_twice,
    trained,
)


def known_mistake(case: Psgd, outcome: Outcome) -> list[Finding]:
    """Return the mistake that would give exactly these weights; none if no usual one does."""
    mean = np.mean(learned_by_all(case, outcome), axis=0)
    for rank in range(outcome.ranks):
        held = trained(outcome, rank)
        if outcome.ranks == 1 or is_same(held, mean):
            continue
        for weights, mistake, _ in likely_ends(case, outcome, rank):
            if mistake and is_same(held, weights):
                return [mistake]
    return []


def likely_ends(
    case: Psgd, outcome: Outcome, rank: int
) -> Iterator[tuple[Vector, Finding | None, bool]]:
    """Yield weights that a rank may end with, the mistake, and whether all ranks are in them."""
    own = learned_by_all(case, outcome)
    sizes = [max(len(rows), 1) for rows in outcome["rows"]]
    starts = [given_start(outcome, each) for each in range(outcome.ranks)]
    own_starts = [learned(case, outcome, each, start) for each, start in enumerate(starts)]
    yield np.mean(own, axis=0), None, True
    told = f"Rank {rank} ended with"
    text = f"{told} its start weights: no step was taken."
    yield starts[rank], found("psgd.start_weights", text, rank=rank), False
    text = f"{told} the sum over all ranks, not with the mean."
    yield np.sum(own, axis=0), found("psgd.sum_not_mean", text, rank=rank), True
    text = f"{told} its own weights, not with the mean."
    yield own[rank], found("psgd.keeps_own_weights", text, rank=rank), False
    text = f"{told} its own weights, trained from its own start weights."
    yield own_starts[rank], found("psgd.keeps_weights_of_own_start", text, rank=rank), False
    text = f"{told} a mean, but the ranks started from different weights."
    helps = "all ranks must start from the weights of rank 0"
    differing = found("psgd.starts_differ", text, help=helps, rank=rank)
    yield np.mean(own_starts, axis=0), differing, False
    text = f"{told} a mean weighted by the number of examples, not with the plain mean."
    weighted = np.average(own, axis=0, weights=sizes)
    yield weighted, found("psgd.mean_weighted", text, rank=rank), True


def learned_by_all(case: Psgd, outcome: Outcome) -> list[Vector]:
    """Return what each rank has learned, from rank 0's start, by the gradients it computed.

    By plain steps; or by steps that still contain the gradients before them, if a rank's weights
    tell so: then not the mean is wrong but the steps.
    """
    start = given_start(outcome, 0)
    plain = [learned(case, outcome, rank, start) for rank in range(outcome.ranks)]
    piled = [start - case.lr * _piled_up(outcome, rank) for rank in range(outcome.ranks)]
    held = [trained(outcome, rank) for rank in range(outcome.ranks)]
    is_piled = any(is_same(each, np.mean(piled, axis=0)) for each in held)
    return piled if is_piled and not is_same(held[0], np.mean(plain, axis=0)) else plain


def _piled_up(outcome: Outcome, rank: int) -> Vector:
    """Return the sum of a rank's steps if no gradient is ever set to zero."""
    gradients = outcome["gradients"][rank].astype(np.float64)
    return np.asarray(gradients.cumsum(axis=0).sum(axis=0))


def why_not_sgd(
    case: Psgd, outcome: Outcome, rank: int, number: int, batches: list[list[Rows]]
) -> list[Finding]:
    """Return the mistake that leads to the gradient of a rank's batch; none for an unknown one."""
    gradient = outcome["gradients"][rank][number].astype(np.float64)
    given = examples(outcome, batches[rank][number])
    start, scale = given_start(outcome, 0), scales_of(outcome, rank)[number]
    before = outcome["gradients"][rank][:number].astype(np.float64)

    def is_taken_at(weights: Vector) -> bool:
        expected = scale * softmax_regression.gradient(scale * weights, *given)
        return np.allclose(gradient, expected, rtol=GRADIENT_ATOL, atol=GRADIENT_ATOL)

    there = start - case.lr * before.sum(axis=0)
    if twice := softmax_twice(gradient / scale, scale * there, given):
        return twice
    if is_taken_at(start - case.lr * before.cumsum(axis=0).sum(axis=0)):
        text = f"Before batch {number}, rank {rank}'s steps used earlier batches' gradients again."
        helps = "where does your code set gradients to zero before backward() adds to them?"
        return [found("psgd.gradients_pile_up", text, help=helps, rank=rank, batch=number)]
    epochs = [len(own) // case.epochs for own in batches]
    done = number // max(epochs[rank], 1)
    shares = [outcome["gradients"][r][: done * epochs[r]] for r in range(outcome.ranks)]
    mean = np.mean([share.astype(np.float64).sum(axis=0) for share in shares], axis=0)
    since = outcome["gradients"][rank][done * epochs[rank] : number].astype(np.float64)
    if outcome.ranks > 1 and is_taken_at(start - case.lr * (mean + since.sum(axis=0))):
        text = "The ranks averaged their weights after every epoch."
        helps = "the ranks must average once, at the end"
        return [found("psgd.averaged_every_epoch", text, help=helps, rank=rank, batch=number)]
    if is_taken_at(start):
        text = f"Rank {rank}'s steps before batch {number} did not change its weights."
        return [found("psgd.steps_change_nothing", text, rank=rank, batch=number)]
    return []


def is_same(one: Vector, other: Vector) -> bool:
    return bool((np.abs(one - other) <= 2 * ATOL * np.maximum(1, np.abs(other))).all())
