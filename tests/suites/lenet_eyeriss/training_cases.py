"""What both all-reduce parts are called with: LeNet-5, each rank with its own digits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.model import Outcome
from grader.suite.case import Array, Case, Data, Text

from . import serial

SHEETS_RANKS = [4]
OTHER_RANKS = [1, 2, 5, 8]
RANKS = [*SHEETS_RANKS, *OTHER_RANKS]
"""The sheet's four come first: whoever wrote for four processes only is still told about them."""
SEVERAL_RANKS = [ranks for ranks in RANKS if ranks > 1]
ITEM_NUM_BYTES = 4
"""Gradients are float32."""
_LEARNING_RATE = 0.002


@dataclass(frozen=True, kw_only=True)
class Training(Case):
    """Some epochs from given start weights; each rank has as many examples as the others."""

    file: str
    epochs: int
    part_length: int
    """How many examples each rank has."""

    @property
    def label(self) -> str:
        """Return epochs and examples."""
        return f"LeNet-5, {self.epochs} epochs, {self.part_length} images on each rank"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return for every rank its examples, and start weights that are the same for all."""
        digits = data.mnist()
        number = ranks * self.part_length
        chosen = random.choice(len(digits.train_labels), number, replace=False)
        shared = {
            "file": self.file,
            "start": serial.start_parameters(random),
            "epochs": self.epochs,
            "learning_rate": _LEARNING_RATE,
        }
        return [
            {
                **shared,
                "images": digits.train_images[rows],
                "labels": digits.train_labels[rows].astype(np.int64),
            }
            for rows in chosen.reshape(ranks, self.part_length)
        ]

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of what a rank saw: a row an epoch, none where it could not go on."""
        rows = Array("float32", (None, serial.NUM_PARAMETERS))
        return {"own": rows, "averaged": rows, "parameters": rows, "problem": Text()}


def cases_by_ranks(file: str) -> dict[int, tuple[Training, ...]]:
    """Return the cases of one part for every number of ranks: one launch each."""
    sheets = Training("train_epochs", file=file, epochs=3, part_length=25)
    other = Training("train_epochs", file=file, epochs=2, part_length=4)
    return {ranks: (sheets,) if ranks in SHEETS_RANKS else (other,) for ranks in RANKS}


def train_serially(outcome: Outcome) -> NDArray[np.float64]:
    """Return the parameters after every epoch of one process that has all ranks' examples."""
    first = outcome.inputs[0]
    return serial.train(
        first["start"],
        np.concatenate([given["images"] for given in outcome.inputs]).astype(np.float64),
        np.concatenate([given["labels"] for given in outcome.inputs]),
        first["learning_rate"],
        first["epochs"],
    )
