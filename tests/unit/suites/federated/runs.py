"""Runs made by hand: what scripts with known mistakes would have brought back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from federated import lenet
from federated.training_cases import Trained, Training

from grader.grading_plugin.case import Data
from grader.judge.check_failures import CheckFailure, WrongAnswer
from grader.oracles import SGD

from ...judge.build import outcome

Gradients = Mapping[int, lenet.Vector]

START = np.random.default_rng(3).uniform(-0.1, 0.1, lenet.NUM_PARAMETERS).astype(np.float32)


@contextmanager
def raises(
    key: str, match: str | None = None, kind: type[CheckFailure] = WrongAnswer, **facts: Any
) -> Iterator[None]:
    """Expect a failure whose cause has this key and, among others, these facts."""
    with pytest.raises(kind, match=match) as error:
        yield
    cause = error.value.findings[0]
    assert cause.key == key
    assert facts.items() <= cause.facts.items()


def failures_of(
    checks: object, run: Trained, questions: Sequence[str]
) -> Mapping[str, WrongAnswer]:
    """Return the failure of each question that does not hold for a training."""
    failed = {}
    for question in questions:
        try:
            getattr(checks, question)(run.case, run.outcome)
        except WrongAnswer as error:
            failed[question] = error
    return failed


class Rank:
    """What one rank did; `seen` has the model at each of its batches."""

    def __init__(self) -> None:
        self.batches: list[np.ndarray] = []
        self.seen: list[np.ndarray] = []
        self.model: np.ndarray = START
        self.gradient = np.zeros(0, dtype=np.float32)

    def result(self) -> dict[str, Any]:
        return {
            "model": np.asarray(self.model, dtype=np.float32),
            "gradient": self.gradient,
            "aggregate": np.zeros(0, dtype=np.float32),
            "problem": "",
            "rows": np.concatenate([np.zeros(0, dtype=np.int64), *self.batches]).astype(np.int64),
            "rows_per_batch": np.array([len(rows) for rows in self.batches], dtype=np.int64),
            "seen": np.array(self.seen, dtype=np.float32) if self.seen else np.zeros((0, 0)),
            "figures": "",
        }


def trained(case: Training, ranks: Sequence[Rank]) -> Trained:
    """Return the run of these ranks."""
    results = [rank.result() for rank in ranks]
    return Trained(case, outcome(case, inputs_of(case, len(ranks)), results))


def inputs_of(case: Training, ranks: int) -> Sequence[Mapping[str, Any]]:
    """Return inputs as the runner would make them."""
    return case.inputs(np.random.default_rng(0), ranks, Data())


def data_parallel(
    case: Training,
    num_ranks: int,
    used: Callable[[int, Gradients], lenet.Vector] = lambda rank, gradients: np.mean(
        list(gradients.values()), axis=0
    ),
    start: Callable[[int], np.ndarray] = lambda rank: START,
    rows: Callable[[int, np.ndarray], np.ndarray] | None = None,
    momentum: float = lenet.MOMENTUM,
    rate: float = lenet.LEARNING_RATE,
    left: Callable[[int, Gradients], lenet.Vector] | None = None,
) -> Trained:
    """Return a serverless training whose rank `rank` steps with used(rank, all gradients).

    left: what is in its `.grad` after the last step.
    """
    examples = trained(case, [Rank() for _ in range(num_ranks)])
    ranks = [Rank() for _ in range(num_ranks)]
    for number, rank in enumerate(ranks):
        rank.model = start(number)
    velocities = [np.zeros(lenet.NUM_PARAMETERS) for _ in ranks]
    share = 100 // num_ranks
    for epoch in range(3):
        order = np.random.default_rng(epoch).permutation(case.num_training)
        for begin in range(0, case.num_training, 100):
            batch = order[begin : begin + 100]
            gradients = {}
            for number, rank in enumerate(ranks):
                mine = batch[number * share : (number + 1) * share]
                mine = mine if rows is None else rows(number, batch)
                rank.batches.append(mine)
                rank.seen.append(np.asarray(rank.model, dtype=np.float32))
                seen = np.asarray(rank.seen[-1], dtype=np.float64)
                gradients[number] = examples.gradient(seen, mine)
            for number, rank in enumerate(ranks):
                velocities[number] = momentum * velocities[number] + used(number, gradients)
                rank.model = (rank.seen[-1] - rate * velocities[number]).astype(np.float32)
                if left is not None:
                    rank.gradient = left(number, gradients).astype(np.float32)
    return trained(case, ranks)


def federated(
    case: Training,
    aggregated: Callable[[Sequence[np.ndarray], Sequence[int]], np.ndarray] | None = None,
    keeps_momentum: bool = False,
    sends_back: bool = True,
    rows: Callable[[int, np.ndarray], np.ndarray] = lambda client, mine: mine,
    num_rounds: int = 5,
) -> Trained:
    """Return a FedAvg training whose server makes `aggregated(models, sizes)` of the models."""
    num_clients = len(case.client_sizes)
    examples = trained(case, [Rank() for _ in range(num_clients + 1)])
    ranks = [Rank() for _ in range(num_clients + 1)]
    server, clients = ranks[0], ranks[1:]
    sgd = SGD(lenet.LEARNING_RATE, lenet.MOMENTUM)
    velocities: list[lenet.Vector | float] = [0.0 for _ in clients]
    for number in range(num_rounds):
        for client, rank in enumerate(clients):
            if sends_back or number == 0:
                rank.model = server.model
            if not keeps_momentum:
                velocities[client] = 0.0
            mine = np.flatnonzero(examples.client_of == client)
            mine = rows(client, np.random.default_rng(number).permutation(mine))
            for begin in range(0, len(mine), 32):
                batch = mine[begin : begin + 32]
                rank.batches.append(batch)
                rank.seen.append(np.asarray(rank.model, dtype=np.float32))
                seen = rank.seen[-1].astype(np.float64)
                gradient = examples.gradient(seen, batch)
                after, velocities[client] = sgd.step(seen, gradient, velocities[client])
                rank.model = after.astype(np.float32)
        models = [rank.model for rank in clients]
        average = aggregated or weighted
        server.model = np.asarray(average(models, case.client_sizes), dtype=np.float32)
    return trained(case, ranks)


def weighted(models: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """Return the weighted mean."""
    pairs = zip(models, sizes, strict=True)
    return np.sum([size / sum(sizes) * model for model, size in pairs], axis=0)
