"""Of what the steps of a data-parallel training were made, read from where each step led.

The gradients are those of the batches and weights that were really used, so each step is judged
from the one before it, and one mistake is not found again in all that follows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.api import WrongAnswer
from grader.oracles import Adam

from . import lenet
from .differences import fits, rounding
from .explaining import Mixture, mixture, plain_mixture
from .training_cases import Trained

SGD = (lenet.MOMENTUM, 0.0)
"""How much of the last step, and of the one before, is in a step of SGD with momentum."""
NO_MOMENTUM = (0.0, 0.0)
NOT_CLEARED = (1 + lenet.MOMENTUM, -lenet.MOMENTUM)
"""With gradients that are never cleared: each holds those of all steps before it."""

KINDS = (SGD, NO_MOMENTUM, NOT_CLEARED)

_ALIKE = 0.98
"""The cosine of two ways that count as one: those of Adam depend on the sign of each number."""


@dataclass(frozen=True)
class Step:
    """A step of one rank's model: where it began and led, and of which gradients it was made."""

    number: int
    before: lenet.Vector
    after: lenet.Vector
    expected: lenet.Vector
    """Where serial training on the whole batch would have led."""
    made_of: Mixture | None
    """None where it is no sum of gradients."""
    num_steps: int = 1
    """How many steps of the training this is, where only the first and the last model are known."""


def assert_gradients_computed(trained: Trained, ranks: Sequence[int]) -> None:
    """Assert that each of these ranks computes gradients. Raises WrongAnswer."""
    for rank in ranks:
        if not trained.batches(rank):
            text = f"Rank {rank} computed no gradient of Net; it must compute one in each step."
            raise WrongAnswer.of("gradient.none_computed", text, rank=rank)


class Steps:
    """The steps that can be seen of one run."""

    def __init__(self, trained: Trained, computing: Sequence[int]) -> None:
        """computing: the ranks that compute gradients. Raises WrongAnswer where one has none."""
        self.trained = trained
        self.computing = tuple(computing)
        assert_gradients_computed(trained, computing)
        self.number = min(len(trained.batches(rank)) for rank in computing)
        self._of: dict[int, list[Step]] = {}
        self._left: dict[int, Mixture | None] = {}

    @property
    def has_server(self) -> bool:
        """Return whether rank 0 steps for the others."""
        return 0 not in self.computing

    def gradients(self, number: int) -> dict[int, lenet.Vector]:
        """Return the gradients of a step by rank."""
        return {rank: self.trained.gradient_at(rank, number) for rank in self.computing}

    def models(self, rank: int) -> list[lenet.Vector]:
        """Return the models a computing rank had before each step, and after the last."""
        seen = [self.trained.seen(rank, number) for number in range(self.number)]
        if len(self.trained.batches(rank)) > self.number:
            return [*seen, self.trained.seen(rank, self.number)]
        return seen if self.has_server else [*seen, *self._at_the_end(rank)]

    def of(self, rank: int) -> list[Step]:
        """Return the steps of a rank's model that are known.

        The last is left out where `model` is another one than the trained network.
        """
        steps = self._all_of(rank)
        return steps[:-1] if self.has_other_model(rank) else steps

    def has_other_model(self, rank: int) -> bool:
        """Return whether the steps before the last one are explained, and `model` is not."""
        is_explained = [step.made_of is not None for step in self._all_of(rank)]
        return len(is_explained) > 1 and all(is_explained[:-1]) and not is_explained[-1]

    def gradient_left(self, rank: int) -> Mixture | None:
        """Return of which gradients of the last step the rank's `.grad` is made at the end."""
        if rank not in self._left:
            left = self.trained.gradient_left(rank)
            last = self.number - 1
            own = self.gradients(last)
            self._left[rank] = None if left is None else mixture(left, own, 0.0, rank=rank)
        return self._left[rank]

    def is_adam(self, rank: int) -> bool:
        """Return whether the steps are those of Adam with the mean gradient.

        Of whatever learning rate, all else as torch has it.
        """
        steps = self.of(rank)
        if len(steps) < self.number - 1 or not steps:
            return False
        moments = None
        for step in steps:
            gradient = np.mean(list(self.gradients(step.number).values()), axis=0)
            expected, moments = Adam().step(step.before, gradient, moments)
            if _cosine(step.before - step.after, step.before - expected) < _ALIKE:
                return False
        return True

    def servers_models(self) -> list[lenet.Vector] | None:
        """Return the server's model before each step where all that is known are first and last.

        None where the workers' models are the server's, or where nothing explains the last.
        """
        steps = self.of(0)
        made = steps[0].made_of if steps else None
        if made is None or steps[0].num_steps == 1:
            return None
        models, velocities = [steps[0].before], [np.zeros(lenet.NUM_PARAMETERS)] * 2
        for number in range(self.number - 1):
            own = self.gradients(number)
            used = np.sum([made.shares[rank] * own[rank] for rank in own], axis=0)
            kind = made.others
            velocities.append(used + kind[0] * velocities[-1] + kind[1] * velocities[-2])
            models.append(models[-1] - lenet.LEARNING_RATE * velocities[-1])
        return models

    def _at_the_end(self, rank: int) -> list[lenet.Vector]:
        """Return the rank's `model`, or nothing: what is wrong with it costs a test of its own."""
        try:
            return [self.trained.model(rank)]
        except WrongAnswer:
            return []

    def _all_of(self, rank: int) -> list[Step]:
        if rank not in self._of:
            is_server = rank not in self.computing
            self._of[rank] = (
                self._of_server() if is_server else self._along(self.models(rank), rank)
            )
        return self._of[rank]

    def _along(
        self, models: Sequence[lenet.Vector], rank: int | None, first: int = 0
    ) -> list[Step]:
        """Return the steps between models that follow each other, from step `first` on.

        What the steps before that one did is taken to have been right.
        """
        ways = [np.mean(list(self.gradients(number).values()), axis=0) for number in range(first)]
        steps: list[Step] = []
        for number in range(first, len(models) - 1):
            own, before = self.gradients(number), models[number]
            older = ways[max(number - 2, 0) : number][::-1]
            ways.append((before - models[number + 1]) / lenet.LEARNING_RATE)
            noise = rounding(before) / lenet.LEARNING_RATE
            # Of one that nothing explains, what follows is not worth a long search.
            is_lost = any(step.made_of is None for step in steps)
            made_of = (
                plain_mixture(ways[-1], own, noise, older, SGD)
                if is_lost
                else mixture(ways[-1], own, noise, others=older, kinds=KINDS, rank=rank)
            )
            right = np.mean(list(own.values()), axis=0) + lenet.MOMENTUM * sum(older[:1])
            expected = before - lenet.LEARNING_RATE * right
            steps.append(Step(number, before, models[number + 1], expected, made_of))
        return steps

    def _of_server(self) -> list[Step]:
        """Return the server's steps: as its workers see them, or else all of them as one.

        Who does not send the model back may step rightly all the same.
        """
        followed: list[Step] = []
        seen = [self.models(rank) for rank in self.computing]
        end = self._at_the_end(0)
        for first in (0, 1) if self.number > 1 else (0,):
            if all(_are_equal(seen[0][first:], each[first:]) for each in seen[1:]):
                steps = self._along([*seen[0], *end], None, first)
                if steps and all(_moves(step) and step.made_of is not None for step in steps):
                    return steps
                followed = followed or steps
        if end:
            in_one = self._in_one(seen[0][0], end[0])
            if in_one.made_of is not None:
                return [in_one]
            return followed or [in_one]
        return followed

    def _in_one(self, start: lenet.Vector, end: lenet.Vector) -> Step:
        """Return all steps as one that leads from the first model to the last."""
        way = (start - end) / lenet.LEARNING_RATE
        noise = self.number * rounding(start) / lenet.LEARNING_RATE
        mixtures: list[Mixture] = []
        expected = start
        for kind in KINDS:
            counts = _counts(self.number, kind)
            own = {
                rank: np.sum(
                    [
                        count * self.trained.gradient_at(rank, number)
                        for number, count in enumerate(counts)
                    ],
                    axis=0,
                )
                for rank in self.computing
            }
            if kind is SGD:
                expected = start - lenet.LEARNING_RATE * np.mean(list(own.values()), axis=0)
            made = mixture(way, own, noise)
            if made is not None:
                mixtures.append(Mixture(made.shares, kind, made.misfits))
        best = min(mixtures, key=lambda each: len(each.misfits), default=None)
        return Step(self.number - 1, start, end, expected, best, num_steps=self.number)


def one_model(models: Mapping[int, lenet.Vector], before: lenet.Vector) -> int | None:
    """Return the first rank whose model is not the first one's, or None.

    before: from where a step led to these.
    """
    (_, first), *others = models.items()
    return next((rank for rank, model in others if not fits(model, first, before)), None)


def _moves(step: Step) -> bool:
    return not np.array_equal(step.before, step.after)


def _are_equal(some: Sequence[lenet.Vector], others: Sequence[lenet.Vector]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


def _counts(number: int, kind: Sequence[float]) -> list[float]:
    """Return how often each of so many gradients counts in the sum of all steps."""
    counts = []
    for begin in range(number):
        ways = [0.0, 0.0]
        for step in range(begin, number):
            used = float(step == begin)
            ways.append(used + kind[0] * ways[-1] + kind[1] * ways[-2])
        counts.append(sum(ways))
    return counts


def _cosine(one: lenet.Vector, other: lenet.Vector) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / max(lengths, 1e-30)
