"""What psgd is called with: trainings of a small model, on all ranks or on some of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Array, Data, Outcome, Text

from .digits_cases import Digits
from .training_cases import Training, batch_results, start_of

SEVERAL_RANKS = [3, 2, 4, 5]
"""Three come first: two are no proof of more."""
ENOUGH_RANKS = [3, 4, 5]
MANY_RANKS = [8, 16]
"""Far more than cores: only what is computed is looked at there, in one short training."""
BATCH_NS = 6_000_000
"""How long each batch takes at least, which is more than it needs."""
_MOST_PASSES = 1 << 16
REAL_SIZE = "real size"
"""Subject of the case whose model is as large as the network of the assignment."""
GROUPED_RANKS = 5
GROUPS = ((4, 2, 0), (3, 1))
"""The ranks of two communicators that share no rank, in an order of their own."""


@dataclass(frozen=True, kw_only=True)
class Psgd(Training):
    """One call of psgd on every rank."""

    probe: str = "train_psgd"
    starts_differ: bool = False
    """Every rank's model begins with weights of its own; those of rank 0 count."""
    scales_differ: bool = False
    """Every rank's model multiplies its logits by numbers that only this rank draws as it goes."""
    groups: tuple[tuple[int, ...], ...] = ()
    """The ranks of each communicator that psgd is called with; none for one of all ranks."""

    @property
    def label(self) -> str:
        """Return the size of the training and what is special."""
        told = [str(list(group)).replace("[", "ranks ").rstrip("]") for group in self.groups]
        return (
            super().label
            + (", different start weights" if self.starts_differ else "")
            + (f", communicators of {' and of '.join(told)}" if told else "")
        )

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same for every rank, but its own start weights where these differ."""
        groups = np.zeros((0, 2), np.int64)
        if self.groups:
            groups = np.array([self._place_of(rank) for rank in range(ranks)], np.int64)
        special: dict[str, Any] = {"groups": groups}
        if self.probe == "train_psgd":
            special["batch_s"] = BATCH_NS / 1e9
        inputs = [{**same, **special} for same in super().inputs(random, ranks, data)]
        seeds = random.integers(1, 1 << 62, ranks) * self.scales_differ
        inputs = [
            {**same, "scale_seed": seed} for same, seed in zip(inputs, seeds.tolist(), strict=True)
        ]
        if not self.starts_differ:
            return inputs
        features = inputs[0]["weights"].shape[1]
        starts = [start_of(random, features) for _ in range(ranks)]
        return [
            {**same, "weights": weights, "biases": biases}
            for same, (weights, biases) in zip(inputs, starts, strict=True)
        ]

    def _place_of(self, rank: int) -> tuple[int, int]:
        """Return which communicator a rank belongs to, and its rank there."""
        return next((n, group.index(rank)) for n, group in enumerate(self.groups) if rank in group)


def scales_of(outcome: Outcome, rank: int) -> NDArray[np.float64]:
    """Return by what a rank's model multiplied its logits, for each of its batches.

    NaN for a forward pass that no training comes to.
    """
    numbers, seed = outcome["forward_passes"][rank], outcome.inputs[rank].get("scale_seed", 0)
    if not seed:
        return np.ones(len(numbers))
    drawn = np.random.default_rng(seed).uniform(0.5, 1, _MOST_PASSES)
    is_drawn = (numbers >= 0) & (numbers < _MOST_PASSES)
    return np.where(is_drawn, drawn[np.where(is_drawn, numbers, 0)], np.nan)


@dataclass(frozen=True, kw_only=True)
class Apart(Psgd):
    """The same, but a rank that has trained and calls its communicator is done.

    So it shows how the ranks train where nothing comes of their exchange.
    """

    probe: str = "train_psgd_apart"
    call: str = "psgd until it exchanges"

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of what is noted of the batches."""
        return batch_results()


APART = Apart(num_examples=60, epochs=2, batch_size=4, lr=0.25, scales_differ=True)


def cases_of(ranks: int) -> tuple[Psgd, ...]:
    """Return all trainings for a number of ranks: one launch."""
    plain = Psgd(subject="values", num_examples=60, epochs=2, batch_size=4, lr=0.25)
    if ranks in MANY_RANKS:
        many = replace(plain, num_examples=53, epochs=1, batch_size=2, scales_differ=True)
        return (replace(many, subject="many ranks", synchronous_sends=True),)
    # Each rank of each group has whole batches only: what becomes of smaller ones costs once.
    grouped = replace(plain, subject="communicators", groups=GROUPS, batch_size=5)
    grouped = replace(grouped, scales_differ=True)
    return (
        plain,
        Psgd(subject="unequal parts", num_examples=53, epochs=3, batch_size=8, lr=0.125),
        replace(plain, subject="start", starts_differ=True, epochs=1),
        *([grouped] if ranks == GROUPED_RANKS else []),
        replace(plain, subject="buffering", synchronous_sends=True, epochs=1),
        *([_real_size(plain)] if ranks in SEVERAL_RANKS else []),
    )


def of_real_length() -> tuple[Psgd, Digits]:
    """Return a training of up to as many batches as the assignment's, and one of a network."""
    sizes: dict[str, Any] = {"num_examples": 24, "epochs": 16, "most_epochs": 300, "batch_size": 4}
    length = Psgd(subject="length", lr=0.125, scales_differ=True, **sizes)
    return length, Digits(function="psgd")


def _real_size(plain: Psgd) -> Psgd:
    """Return a short training that has all that the others ask for, of a model as large as Net."""
    short = replace(plain, subject=REAL_SIZE, is_real_size=True, num_examples=15, epochs=1)
    return replace(short, starts_differ=True, synchronous_sends=True)
