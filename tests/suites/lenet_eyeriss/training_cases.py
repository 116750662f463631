"""What both all-reduce parts are called with: LeNet-5, each rank with its own digits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Array, Case, Data, Outcome, Text

from . import serial

SHEETS_RANKS = 4
OTHER_RANKS = [2, 3, 8]
SEVERAL_RANKS = [SHEETS_RANKS, *OTHER_RANKS]
"""The sheet's four come first: code written for four ranks only is still told about them."""
FEW_RANKS = [SHEETS_RANKS, 3]
"""Enough ranks for a ring. What is sound in an average that is not right shows on one of them."""
ITEM_NUM_BYTES = 4
"""Gradients are float32."""
_LEARNING_RATE = 0.002
_MORE_CALLS = (2, 5)
_MANY_CALLS = (101, 121)
"""Drawn, and more than a training of the handout makes: code could stop after fewer."""


@dataclass(frozen=True, kw_only=True)
class Training(Case):
    """Some epochs from given start weights; each rank has as many examples as the others."""

    file: str
    epochs: int
    part_length: int
    """How many examples each rank has."""
    buffered_sends: bool = False
    """dist.send does not wait for its receive: shows what is right in code that waits for ever."""
    many_calls: bool = False
    """Whether the function is called many times, to see that it goes on as it begins."""
    all_calls_count: bool = True

    @property
    def label(self) -> str:
        """Return epochs and examples."""
        epochs = "1 epoch" if self.epochs == 1 else f"{self.epochs} epochs"
        way = ", dist.send does not wait" if self.buffered_sends else ""
        way += ", many calls" if self.many_calls else ""
        return f"LeNet-5, {epochs}, {self.part_length} images on each rank{way}{self.perturbation}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return for every rank its examples, and start weights that are the same for all.

        Each epoch has other examples: gradients of the epoch before are not nearly right. How often
        the function is called in the last epoch cannot be known before.
        """
        digits = data.mnist()
        number = ranks * self.epochs * self.part_length
        chosen = random.choice(len(digits.train_labels), number, replace=False)
        shared = {
            "file": self.file,
            "start": serial.start_parameters(random),
            "epochs": self.epochs,
            "num_more_calls": self._num_more_calls(random),
            "learning_rate": _LEARNING_RATE,
            "buffered_sends": self.buffered_sends,
        }
        return [
            {
                **shared,
                "images": digits.train_images[rows],
                "labels": digits.train_labels[rows].astype(np.int64),
            }
            for rows in chosen.reshape(ranks, self.epochs, self.part_length)
        ]

    def _num_more_calls(self, random: np.random.Generator) -> int:
        if self.buffered_sends:
            return 0
        if self.many_calls:
            return int(random.integers(*_MANY_CALLS))
        return int(random.integers(*_MORE_CALLS))

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of what a rank saw: a row an epoch, none where it could not go on."""
        rows = Array("float32", (None, serial.NUM_PARAMETERS))
        names = ("own", "averaged", "returned", "parameters")
        return {
            **dict.fromkeys(names, rows),
            "problem": Text(),
            "num_backward": Array("int64", (1,)),
        }


@dataclass(frozen=True, kw_only=True)
class Alone(Case):
    """One call on each rank without the others: what does it give, and does it use what it gets?"""

    file: str

    @property
    def label(self) -> str:
        """Return that there are no messages."""
        return "LeNet-5, one call on each rank alone"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return for every rank its examples, and whole numbers far above any gradient."""
        training = _training(self.file, ranks)
        return [
            {
                "file": self.file,
                "start": given["start"],
                "images": given["images"][0],
                "labels": given["labels"][0],
                "arriving": random.integers(1 << 12, 1 << 20, 4 * serial.NUM_PARAMETERS).astype(
                    np.float32
                ),
            }
            for given in training.inputs(random, ranks, data)
        ]

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of what a rank had, gave, and ended with, if it did end."""
        return {
            "own": Array("float32", (serial.NUM_PARAMETERS,)),
            "given": Array("float32", (None,), finite=False),
            "averaged": Array("float32", (None, serial.NUM_PARAMETERS), finite=False),
        }


def alone_case(file: str) -> tuple[Alone, ...]:
    """Return the case that stages need for a part: one launch."""
    return (Alone("average_alone", file=file),)


def many_calls_case(file: str) -> tuple[Training, ...]:
    """Return the case of a part that calls the function many times."""
    return (replace(_training(file, SHEETS_RANKS), epochs=1, part_length=4, many_calls=True),)


def allreduce_cases(ranks: int) -> tuple[Training, ...]:
    """Return the cases of allreduce for a number of ranks: one launch."""
    return (_training("allreduce.py", ranks),)


def ring_cases(ranks: int) -> tuple[Training, ...]:
    """Return the cases of ring_allreduce for a number of ranks: one launch."""
    plain = _training("ring_allreduce.py", ranks)
    if ranks != SHEETS_RANKS:
        return (plain,)
    return (plain, replace(plain, epochs=1, part_length=4, buffered_sends=True))


def _training(file: str, ranks: int) -> Training:
    epochs, part_length = (3, 25) if ranks == SHEETS_RANKS else (2, 4)
    return Training("train_epochs", file=file, epochs=epochs, part_length=part_length)


def train_serially(outcome: Outcome) -> NDArray[np.float64]:
    """Return the parameters after every epoch of one process that has all ranks' examples."""
    first = outcome.inputs[0]
    return serial.train(
        first["start"],
        np.concatenate([given["images"] for given in outcome.inputs], axis=1).astype(np.float64),
        np.concatenate([given["labels"] for given in outcome.inputs], axis=1),
        first["learning_rate"],
    )
