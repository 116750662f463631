"""Of what the global models of federated averaging were made, read from where rounds began and led.

McMahan et al. 2017, algorithm 1 with all clients: w <- sum over k of (n_k / n) w_k. As with steps,
a round is judged from the models that the clients really began it with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.api import WrongAnswer

from . import lenet
from .differences import follows, rounding
from .explaining import Mixture, fixed_sum, mixture
from .training_cases import Rows, Trained

NUM_ROUNDS = 5
BATCH_SIZE = 32


@dataclass(frozen=True)
class LocalSGD:
    """How clients step: what is added to a step, and what outlives it."""

    scale: float = 1.0
    """How much of its learning rate is taken."""
    momentum: float = lenet.MOMENTUM
    keeps_momentum: bool = False
    """From one round to the next, which is left to the student."""
    clears: bool = True
    """Gradients, before each batch."""


RIGHT = (LocalSGD(), LocalSGD(keeps_momentum=True))


@dataclass(frozen=True)
class Average:
    """The global model after a round: of which clients' models it is made, and how they differ."""

    number: int
    """Of the round."""
    before: lenet.Vector
    after: lenet.Vector
    expected: lenet.Vector
    made_of: Mixture | None
    """None where it is no sum of the clients' models."""
    is_last: bool
    """Read from `model` on rank 0, not from where the next round began."""


class Rounds:
    """The rounds that can be seen of one run."""

    def __init__(self, trained: Trained) -> None:
        """Raises WrongAnswer where a client computed no gradient."""
        self.trained = trained
        self.clients = range(1, trained.outcome.ranks)
        self.epochs: dict[int, list[list[int]]] = {}
        for rank in self.clients:
            batches = trained.batches(rank)
            if not any(map(len, batches)):
                text = (
                    f"Rank {rank}, a client, computed no gradient of Net; every client must train."
                )
                raise WrongAnswer.of("client.no_gradient", text, rank=rank)
            self.epochs[rank] = _epochs(batches)
        self._rounds = {rank: _rounds(epochs) for rank, epochs in self.epochs.items()}
        self.number = min(map(len, self._rounds.values()))
        self.num_examples = {
            rank: len(np.unique(np.concatenate(trained.batches(rank)))) for rank in self.clients
        }
        self._local: LocalSGD | None = None
        self._averages: list[Average] | None = None
        self._ways_known: tuple[LocalSGD, dict[int, list[lenet.Vector]]] = (RIGHT[0], {})
        """By rank, with the steps that were looked for last: they are asked for once a round."""

    def starts(self, number: int) -> dict[int, lenet.Vector]:
        """Return the models with which the clients began a round."""
        return {rank: self.trained.seen(rank, own[number][0]) for rank, own in self._rounds.items()}

    def ends(self, number: int) -> dict[int, lenet.Vector]:
        """Return the models with which the clients ended a round, by the steps that they take."""
        self._explain()
        return self._ends(number, self._local or RIGHT[0])

    @property
    def local(self) -> LocalSGD | None:
        """Return how the clients step, or None where nothing known explains it."""
        self._explain()
        return self._local

    @property
    def averages(self) -> Sequence[Average]:
        """Return the global models that can be seen.

        That of the last round is left out where `model` is none of the kind that the others are.
        """
        averages = self._explain()
        return averages[:-1] if self.has_other_model else averages

    @property
    def has_other_model(self) -> bool:
        """Return whether `model` on rank 0 is not explained, and all other global models are."""
        averages = self._explain()
        is_explained = [average.made_of is not None for average in averages]
        return (
            len(averages) > 1
            and averages[-1].is_last
            and all(is_explained[:-1])
            and not is_explained[-1]
        )

    def wrong_transition(self, local: LocalSGD) -> tuple[int, int] | None:
        """Return rank and batch after which a client is not where these steps lead, or None."""
        for rank, rounds in self._rounds.items():
            ways = self._ways(rank, local)
            for batch in (batch for own in rounds for batch in own[:-1]):
                before = self.trained.seen(rank, batch)
                expected = before - lenet.LEARNING_RATE * ways[batch]
                if not follows(self.trained.seen(rank, batch + 1), expected, before):
                    return rank, batch
        return None

    def _explain(self) -> list[Average]:
        if self._averages is None:
            explained: list[tuple[LocalSGD, list[Average]]] = []
            for local in self._candidates():
                if self.wrong_transition(local) is None:
                    averages = self._averages_of(local)
                    explained.append((local, averages))
                    if averages and all(each.made_of is not None for each in averages):
                        break
            best = min(explained, key=lambda each: _num_unexplained(each[1]), default=None)
            self._local, self._averages = best or (None, self._averages_of(RIGHT[0]))
        return self._averages

    def _candidates(self) -> list[LocalSGD]:
        """Return the kinds of steps that are looked for, right ones first."""
        kinds = [*RIGHT, LocalSGD(momentum=0.0), LocalSGD(clears=False)]
        scale = self._scale()
        if scale is not None and abs(scale - 1) > 0.02:
            kinds += [LocalSGD(scale=scale), LocalSGD(scale=scale, momentum=0.0)]
            kinds += [LocalSGD(scale=scale, keeps_momentum=True)]
        return kinds

    def _scale(self) -> float | None:
        """Return how far a first step of a round goes, in learning rates; None if none is seen."""
        for rank, rounds in self._rounds.items():
            first = rounds[0][0]
            if len(rounds[0]) > 1:
                own = self.trained.gradient_at(rank, first)
                way = self.trained.seen(rank, first) - self.trained.seen(rank, first + 1)
                return float(way @ own) / max(float(own @ own), 1e-30) / lenet.LEARNING_RATE
        return None

    def _ways(self, rank: int, local: LocalSGD) -> list[lenet.Vector]:
        """Return how far each batch of a client moves its model, in learning rates."""
        if self._ways_known[0] != local:
            self._ways_known = (local, {})
        known = self._ways_known[1]
        if rank not in known:
            known[rank] = self._ways_found(rank, local)
        return known[rank]

    def _ways_found(self, rank: int, local: LocalSGD) -> list[lenet.Vector]:
        ways: list[lenet.Vector] = []
        used: lenet.Vector = np.zeros(lenet.NUM_PARAMETERS)
        velocity: lenet.Vector = np.zeros(lenet.NUM_PARAMETERS)
        firsts = {own[0] for own in self._rounds[rank]}
        for batch in range(len(self.trained.batches(rank))):
            if batch in firsts and not local.keeps_momentum:
                velocity = np.zeros(lenet.NUM_PARAMETERS)
            own = local.scale * self.trained.gradient_at(rank, batch)
            used = own if local.clears else used + own
            velocity = local.momentum * velocity + used
            ways.append(velocity)
        return ways

    def _averages_of(self, local: LocalSGD) -> list[Average]:
        averages = []
        for number in range(self.number):
            ends = self._ends(number, local)
            before = self.starts(number)[self.clients[0]]
            is_last = number + 1 == self.number
            for after in self._globals(number):
                averages.append(self._average(number, before, after, ends, is_last))
        return averages

    def _ends(self, number: int, local: LocalSGD) -> dict[int, lenet.Vector]:
        ends = {}
        for rank, rounds in self._rounds.items():
            last = rounds[number][-1]
            way = lenet.LEARNING_RATE * self._ways(rank, local)[last]
            ends[rank] = self.trained.seen(rank, last) - way
        return ends

    def _globals(self, number: int) -> list[lenet.Vector]:
        """Return the global model after a round, where it is known."""
        if number + 1 == self.number:
            try:
                return [self.trained.model(0)]
            except WrongAnswer:
                return []
        first, *others = self.starts(number + 1).values()
        return [first] if all(np.array_equal(first, each) for each in others) else []

    def _average(
        self,
        number: int,
        before: lenet.Vector,
        after: lenet.Vector,
        ends: Mapping[int, lenet.Vector],
        is_last: bool,
    ) -> Average:
        total = sum(self.num_examples.values())
        weights = {rank: self.num_examples[rank] / total for rank in ends}
        ways = {rank: end - before for rank, end in ends.items()}
        expected = before + sum(weights[rank] * ways[rank] for rank in ways)
        noise = rounding(before)
        right = fixed_sum(after - before, list(ways.values()), list(weights.values()), noise)
        # What the weights are off from adding up to 1 is taken of the model before.
        made_of = (
            Mixture(weights, (0.0,))
            if not right.misfits
            else mixture(after - before, ways, noise, others=[before], kinds=[(0.0,)])
        )
        return Average(number, before, after, expected, made_of, is_last)


def _epochs(batches: Sequence[Rows]) -> list[list[int]]:
    """Return the numbers of the batches of each epoch: one ends where an example comes again."""
    epochs: list[list[int]] = []
    met: set[int] = set()
    for number, batch in enumerate(batches):
        rows = set(map(int, batch))
        if not epochs or rows & met:
            epochs.append([])
            met = set()
        epochs[-1].append(number)
        met |= rows
    return epochs


def _rounds(epochs: Sequence[list[int]]) -> list[list[int]]:
    """Return the numbers of the batches of each round, of as many epochs as fit."""
    per_round = len(epochs) // NUM_ROUNDS if len(epochs) % NUM_ROUNDS == 0 else 1
    return [
        [batch for epoch in epochs[begin : begin + per_round] for batch in epoch]
        for begin in range(0, len(epochs), per_round)
    ]


def _num_unexplained(averages: Sequence[Average]) -> int:
    return sum(average.made_of is None for average in averages)
