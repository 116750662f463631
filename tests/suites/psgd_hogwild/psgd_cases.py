"""What psgd is called with, and what must come of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.judge.counting import assert_not_truncated, calls_by_rank
from grader.judge.findings import RuleViolation, WrongAnswer
from grader.judge.functions import ALL, COMPLETION, NEUTRAL
from grader.judge.values import assert_every_rank
from grader.judge.wording import at, name_of
from grader.model import Outcome
from grader.suite.case import Data
from grader.suite.wording import case_context

from .softmax_regression import Vector
from .training_cases import (
    ATOL,
    NUM_PARAMETERS,
    Rows,
    Training,
    assert_batch_sizes,
    assert_cover,
    assert_epochs_of,
    given_start,
    start_of,
    trained,
    trained_batches,
    trained_serially,
    unpacked,
)

RANKS = [1, 2, 3, 4, 5]
SEVERAL_RANKS = RANKS[1:]
MANY_RANKS = [8, 16]
"""Far more than cores: only what is computed is looked at there, in one short training."""


@dataclass(frozen=True, kw_only=True)
class Psgd(Training):
    """One call of psgd on every rank."""

    probe: str = "train_psgd"
    starts_differ: bool = False
    """Every rank's model begins with weights of its own; those of rank 0 count."""

    @property
    def label(self) -> str:
        """Return the size of the training and what is special."""
        return super().label + (", different start weights" if self.starts_differ else "")

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same for every rank, but its own start weights where these differ."""
        inputs = super().inputs(random, ranks, data)
        if not self.starts_differ:
            return inputs
        starts = [start_of(random) for _ in range(ranks)]
        return [
            {**same, "weights": weights, "biases": biases}
            for same, (weights, biases) in zip(inputs, starts, strict=True)
        ]


def cases_of(ranks: int) -> tuple[Psgd, ...]:
    """Return all trainings for a number of ranks: one launch."""
    if ranks in MANY_RANKS:
        return (Psgd(num_examples=53, epochs=1, batch_size=2, lr=0.25),)
    plain = Psgd(num_examples=60, epochs=2, batch_size=4, lr=0.25)
    return (
        plain,
        Psgd(num_examples=53, epochs=3, batch_size=8, lr=0.125),
        replace(plain, starts_differ=True, epochs=1),
        replace(plain, synchronous_sends=True, epochs=1),
    )


def assert_average(case: Psgd, outcome: Outcome) -> None:
    """Assert that every rank returns the mean of what each rank learned from its own batches.

    Raises WrongAnswer: names the array, and the mistake where it is a known one.
    """
    with case_context(case, outcome):
        start = given_start(outcome, 0)
        batches = _batches_by_rank(case, outcome)
        learned = [trained_serially(case, outcome, start, own) for own in batches]
        expected = np.mean(learned, axis=0)
        try:
            for name, array in unpacked(expected).items():
                found = [unpacked(trained(outcome, rank))[name] for rank in range(outcome.ranks)]
                assert_every_rank(found, equals=array, name=name, rtol=ATOL, atol=ATOL)
        except WrongAnswer as error:
            mistake = _known_mistake(case, outcome, learned, batches)
            raise WrongAnswer(f"{error}{mistake}") from None


def assert_plain_sgd_bit_for_bit(case: Psgd, outcome: Outcome) -> None:
    """Assert that one rank's weights are, to the last bit, its gradients' steps from the start.

    Raises WrongAnswer with the first weight that differs.
    """
    with case_context(case, outcome):
        (gradients,) = outcome["gradients"]
        expected = given_start(outcome, 0).astype(np.float32)
        for gradient in gradients:
            expected = expected - np.float32(case.lr) * gradient
        for name, array in unpacked(expected).items():
            found = unpacked(trained(outcome, 0))[name].astype(np.float32)
            assert_every_rank([found], equals=array, name=name)


def assert_parts(case: Psgd, outcome: Outcome) -> None:
    """Assert that the ranks' parts of the data are disjoint, complete, and used every epoch.

    Raises WrongAnswer with an example that comes too often or not at all.
    """
    with case_context(case, outcome):
        parts = {}
        for rank, batches in enumerate(_batches_by_rank(case, outcome)):
            who = f"rank {rank}"
            parts[who] = assert_epochs_of(case, who, batches)
            assert_batch_sizes(case, who, batches, len(parts[who]))
        assert_cover(case, parts, "the ranks'")


def assert_silent_meanwhile(case: Psgd, outcome: Outcome) -> None:
    """Assert that no rank calls anything that moves data between its first and its last step.

    Raises RuleViolation with the call and the batches around it; NotProven.
    """
    with case_context(case, outcome):
        assert_not_truncated(outcome.trace)
        for rank, call in calls_by_rank(outcome.trace):
            if call.function not in ALL - NEUTRAL - COMPLETION:
                continue
            ended = outcome["ended_ns"][rank]
            num_done = int((ended < call.entered_ns).sum())
            if 0 < num_done < len(ended):
                raise RuleViolation(
                    f"rank {rank} calls {name_of(call)}{at(call)} after {num_done} of its "
                    f"{len(ended)} batches; the ranks are to exchange nothing until all have "
                    "taken their last step"
                )


def _batches_by_rank(case: Psgd, outcome: Outcome) -> list[list[Rows]]:
    batches = []
    for rank in range(outcome.ranks):
        try:
            batches.append(trained_batches(case, outcome, rank))
        except WrongAnswer as error:
            raise WrongAnswer(f"rank {rank}: {error}") from None
    if not any(batches):
        raise WrongAnswer(
            "no rank computed a gradient of the model that it was given; psgd trains `model`, "
            "with model(inputs), a loss and backward()"
        )
    return batches


def _known_mistake(
    case: Psgd, outcome: Outcome, learned: list[Vector], batches: list[list[Rows]]
) -> str:
    """Return the mistake that would give exactly these weights; empty if none of the usual does."""
    own_starts = [
        trained_serially(case, outcome, given_start(outcome, rank), own)
        for rank, own in enumerate(batches)
    ]
    sizes = [sum(map(len, own)) for own in batches]
    for rank in range(outcome.ranks):
        held = trained(outcome, rank)
        if (np.abs(held - np.mean(learned, axis=0)) <= 2 * ATOL).all():
            continue
        likely = [
            (given_start(outcome, rank), "are the start weights: no step was taken"),
            (np.sum(learned, axis=0), "are the sum over all ranks; asked for is the mean"),
            (learned[rank], "are those that this rank alone has learned, not the mean"),
            (own_starts[rank], "are what this rank learned from a start of its own"),
            (
                np.mean(own_starts, axis=0),
                "are a mean, but the ranks started from different weights; all are to start from "
                "those of rank 0",
            ),
            (
                np.average(learned, axis=0, weights=np.maximum(sizes, 1)),
                "are a mean weighted by the number of examples; asked for is the plain mean",
            ),
            (
                _averaged_every_epoch(case, outcome, batches),
                "are averaged after every epoch; the ranks are to average once, at the end",
            ),
        ]
        for weights, mistake in likely:
            if outcome.ranks > 1 and (np.abs(held - weights) <= 2 * ATOL).all():
                return f". The weights of rank {rank} {mistake}"
    return ""


def _averaged_every_epoch(case: Psgd, outcome: Outcome, batches: list[list[Rows]]) -> Vector:
    """Return what all ranks would hold if they averaged after each epoch."""
    weights = given_start(outcome, 0)
    if any(len(own) % case.epochs for own in batches):
        return np.full(NUM_PARAMETERS, np.inf)
    for epoch in range(case.epochs):
        share = [len(own) // case.epochs for own in batches]
        epochs = [
            own[epoch * number : (epoch + 1) * number]
            for own, number in zip(batches, share, strict=True)
        ]
        weights = np.mean([trained_serially(case, outcome, weights, own) for own in epochs], axis=0)
    return weights
