"""What the scripts of all parts are run with: small images, a narrow VGG-11, few iterations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.suite.case import Array, Case, Data, Text

BATCH_SIZE = 256
"""Of all nodes together, as the handout says."""

FIRST_CHANNELS = 4
"""A sixteenth of the real network's: each step takes a hundredth of a second."""

IMAGE = (3, 32, 32)

_NUM_TEST_EXAMPLES = 32


@dataclass(frozen=True, kw_only=True)
class Training(Case):
    """One run of a script on every rank: one epoch of `num_steps` iterations."""

    file: str
    num_steps: int
    phase: str = "between"
    """Which calls are traced: see the probe."""
    takes_flags: bool = True
    first_channels: int = FIRST_CHANNELS
    purpose: str = "values"
    """`values`, or one of `yardstick` and `timing`, which are compared."""
    number: int = 0
    """Tells cases apart that only differ in being measured again."""
    how: str = ""
    """How the yardstick averages gradients: see the probe."""

    @property
    def label(self) -> str:
        """Return the length of the training, and what is watched where that is not the usual."""
        watched = {"between": "", "inside": ", what DistributedDataParallel sends", "all": ""}
        timed = "" if self.purpose == "values" else f", {self.purpose} {self.number}"
        return f"{self.num_steps} iterations{watched[self.phase]}{timed}"

    @property
    def num_examples(self) -> int:
        """Return how many examples the training set has."""
        return self.num_steps * BATCH_SIZE

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same images for every rank: pictures, half covered by noise.

        In pictures alone many neighbouring pixels are equal, and which of two equal numbers is the
        greatest would be decided by rounding.
        """
        is_ours = self.purpose == "yardstick"
        script = {"file": self.file, "takes_flags": self.takes_flags}
        same: dict[str, Any] = {
            **({"how": self.how} if is_ours else script),
            "phase": self.phase,
            "first_channels": self.first_channels,
            "seed": int(random.integers(1 << 30)),
            **_images(random, data, "train", self.num_examples),
            **_images(random, data, "test", _NUM_TEST_EXAMPLES),
        }
        return [same] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of what the probe saw of the training; of a yardstick nothing."""
        if self.purpose == "yardstick":
            return {}
        return {
            "start": Array("float32", (None,)),
            "images": Array("float32", (None, *IMAGE)),
            "labels": Array("int64", (None,)),
            "examples": Array("int64", (None,)),
            "batch_sizes": Array("int64", (None,)),
            "local": Array("float32", (None, None)),
            "used": Array("float32", (None, None)),
            "parameters": Array("float32", (None, None)),
            "through_ddp": Array("int64", (None,)),
            "old_names": Text(),
        }


@dataclass(frozen=True, kw_only=True)
class Printing(Case):
    """One run of a script that is long enough to print losses: only they are looked at."""

    file: str
    num_steps: int
    purpose: str = "values"

    @property
    def label(self) -> str:
        """Return the length of the training."""
        return f"{self.num_steps} iterations, what is printed"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return as many examples as there are iterations: the probe makes batches of them."""
        same: dict[str, Any] = {
            "file": self.file,
            "seed": int(random.integers(1 << 30)),
            "repeats": BATCH_SIZE,
            **_images(random, data, "train", self.num_steps),
            **_images(random, data, "test", _NUM_TEST_EXAMPLES),
        }
        return [same] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the losses, and of what was printed."""
        return {"losses": Array("float64", (None,)), "printed": Text()}


def cases_by_ranks(file: str, how: str = "") -> dict[int, tuple[Training, ...]]:
    """Return what a script on several nodes is run with, by the number of nodes.

    how: with which way of averaging its time on 2 nodes is compared, if it is.
    """
    return {
        4: (Training("train", file=file, num_steps=3),),
        2: timing_cases(file, how, 0) if how else (_short(file),),
        1: (_short(file),),
    }


def timing_cases(file: str, how: str, attempt: int) -> tuple[Training, ...]:
    """Return yardsticks and as many timed runs, more of them at later attempts.

    At first a run that is judged by its values comes between them: it loads what is needed.
    """
    takes_flags = how != "nothing"
    yardstick, timing = (
        [
            Training(
                probe,
                file=file,
                num_steps=2,
                takes_flags=takes_flags,
                first_channels=1,
                purpose=purpose,
                number=10 * attempt + i,
                how=how,
            )
            for i in range(3 if attempt else 2)
        ]
        for probe, purpose in (("train_plainly", "yardstick"), ("train", "timing"))
    )
    between = () if attempt else (_short(file, takes_flags),)
    return (*yardstick, *between, *timing)


def _short(file: str, takes_flags: bool = True) -> Training:
    return Training("train", file=file, num_steps=2, takes_flags=takes_flags)


def cases_of_ddp(file: str) -> dict[int, tuple[Training, ...]]:
    """Return the same for DistributedDataParallel: on 4 nodes, what it sends is looked at too."""
    cases = cases_by_ranks(file, "ddp")
    inside = Training("train", file=file, num_steps=2, phase="inside")
    return {**cases, 4: (*cases[4], inside)}


def _images(random: np.random.Generator, data: Data, kind: str, number: int) -> dict[str, Any]:
    found = data.cifar10()
    rows = random.integers(len(found.train_images), size=number)
    noise = random.integers(128, size=(number, *IMAGE), dtype=np.uint8)
    return {
        f"{kind}_images": found.train_images[rows] // 2 + noise,
        f"{kind}_labels": found.train_labels[rows],
    }
