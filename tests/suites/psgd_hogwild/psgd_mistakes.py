"""Recognises the usual mistakes of psgd by the gradients and the weights that they leave behind."""

from collections.abc import Iterator

import numpy as np

from grader.api import Outcome

from . import softmax_regression
from .psgd_cases import Psgd
from .softmax_regression import Vector
from .training_cases import ATOL, Rows, examples, given_start, learned, trained

GRADIENT_ATOL = 1e-4
"""Of gradients around 1, at weights that differ from the oracle's by rounding."""


def known_mistake(case: Psgd, outcome: Outcome) -> str:
    """Return the mistake that would give exactly these weights; empty if none of the usual does."""
    mean = np.mean(learned_by_all(case, outcome), axis=0)
    for rank in range(outcome.ranks):
        held = trained(outcome, rank)
        if outcome.ranks == 1 or is_same(held, mean):
            continue
        for weights, mistake, _ in likely_ends(case, outcome, rank):
            if mistake and is_same(held, weights):
                return f". The weights of rank {rank} {mistake}"
    return ""


def likely_ends(case: Psgd, outcome: Outcome, rank: int) -> Iterator[tuple[Vector, str, bool]]:
    """Yield weights that a rank may end with, in words, and whether all ranks are in them."""
    own = learned_by_all(case, outcome)
    sizes = [max(len(rows), 1) for rows in outcome["rows"]]
    own_starts = [
        learned(case, outcome, each, given_start(outcome, each)) for each in range(outcome.ranks)
    ]
    yield np.mean(own, axis=0), "", True
    yield given_start(outcome, rank), "are the start weights: no step was taken", False
    yield np.sum(own, axis=0), "are the sum over all ranks; asked for is the mean", True
    yield own[rank], "are those that this rank alone has learned, not the mean", False
    yield own_starts[rank], "are what this rank learned from a start of its own", False
    told = "are a mean, but the ranks started from different weights; all are to start from those "
    yield np.mean(own_starts, axis=0), f"{told}of rank 0", False
    told = "are a mean weighted by the number of examples; asked for is the plain mean"
    yield np.average(own, axis=0, weights=sizes), told, True


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
) -> str:
    """Return the mistake that leads to the gradient of a rank's batch; empty for an unknown one."""
    found = outcome["gradients"][rank][number].astype(np.float64)
    given = examples(outcome, batches[rank][number])
    start = given_start(outcome, 0)
    before = outcome["gradients"][rank][:number].astype(np.float64)

    def is_taken_at(weights: Vector) -> bool:
        expected = softmax_regression.gradient(weights, *given)
        return np.allclose(found, expected, rtol=GRADIENT_ATOL, atol=GRADIENT_ATOL)

    at = start - case.lr * before.sum(axis=0)
    double = softmax_regression.gradient_of_double_softmax(at, *given)
    if np.allclose(found, double, rtol=GRADIENT_ATOL, atol=GRADIENT_ATOL):
        return (
            ". It is the one of CrossEntropyLoss, which takes a softmax of its own of the "
            "probabilities; use the loss of training.py"
        )
    if is_taken_at(start - case.lr * before.cumsum(axis=0).sum(axis=0)):
        return (
            ". The steps before it still contain earlier gradients: call zero_grad() before each "
            "backward()"
        )
    epochs = [len(own) // case.epochs for own in batches]
    done = number // max(epochs[rank], 1)
    shares = [outcome["gradients"][r][: done * epochs[r]] for r in range(outcome.ranks)]
    mean = np.mean([share.astype(np.float64).sum(axis=0) for share in shares], axis=0)
    since = outcome["gradients"][rank][done * epochs[rank] : number].astype(np.float64)
    if outcome.ranks > 1 and is_taken_at(start - case.lr * (mean + since.sum(axis=0))):
        return (
            ". The weights are averaged after every epoch; the ranks are to average once, at the "
            "end"
        )
    if is_taken_at(start):
        return ". It is taken at the start weights: the steps before it changed nothing"
    return ""


def is_same(one: Vector, other: Vector) -> bool:
    return bool((np.abs(one - other) <= 2 * ATOL * np.maximum(1, np.abs(other))).all())
