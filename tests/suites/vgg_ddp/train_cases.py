"""What the scripts of all parts are run with: small images, a narrow VGG-11, few iterations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Array, Case, Data, Launch, Text

from .serial import shapes

BATCH_SIZE = 256
"""Of all nodes together, as the handout says."""

NUM_EXAMPLES = 384
"""A batch and a half: on 4, 2 and 1 ranks an epoch ends with a smaller batch, and none is left."""

NUM_STEPS = 2
"""That are looked at."""
NUM_PAUSED = 3
"""Iterations in which ranks pause, to show whether they compute at the same time."""
_NUM_IN_ALL = 41
"""The iterations of an epoch that is long enough to print two losses."""

FIRST_CHANNELS = 4
"""A sixteenth of the real network's: each step takes a hundredth of a second."""

_WIDE = (24, 41)
"""The same where gradients have a million numbers and more; drawn."""
NUM_PLACES = 2000
"""Of these, how many are seen."""

IMAGE = (3, 32, 32)

_NUM_TEST_EXAMPLES = 32


_OF_STEPS = {
    "images": Array("float32", (None, *IMAGE)),
    "local": Array("float32", (None, None)),
    "used": Array("float32", (None, None)),
    "parameters": Array("float32", (None, None)),
    "through_ddp": Array("int64", (None,)),
    "is_wrapped": Array("int64", (None,)),
    "in_training": Array("int64", (None,)),
    "num_reduced": Array("int64", (None,)),
    "given": Array("float64", (None, 5)),
    "paused_forward_ns": Array("int64", (None, 2)),
    "paused_backward_ns": Array("int64", (None, 2)),
}
"""What the probe saw of the steps that are looked at."""


@dataclass(frozen=True, kw_only=True)
class Training(Case):
    """One run of a script on every rank, with a training set of `num_examples`."""

    file: str
    extent: str = "epoch"
    """How far the script is let go: `first batch`, `exchange`, `epoch`, `late` or `program`.

    Or `wide`: one step with a wider network, of whose gradients few numbers are seen.
    """
    phase: str = "between"
    """Which calls are traced: see the probe."""
    exchange: str = ""
    """The operation whose contents are looked at."""
    takes_flags: bool = True
    is_helped: bool = False
    """The grader joins the ranks in place of the script; see the probe."""
    bucket_num_bytes: int = 0
    """How long the buckets of DistributedDataParallel are, for `train_in_buckets` alone."""
    first_channels: int = FIRST_CHANNELS
    purpose: str = "values"
    """`values`, or one of `yardstick` and `timing`, which are compared."""
    number: int = 0
    """Tells cases apart that only differ in being measured again."""
    how: str = ""
    """How the yardstick averages gradients: see the probe."""

    @property
    def label(self) -> str:
        """Return how far the training goes, and what it is measured for."""
        told = {
            "first batch": "up to the first backward",
            "exchange": "up to the first exchanged gradient",
            "epoch": f"{NUM_STEPS} iterations",
            "late": f"{NUM_STEPS} later iterations",
            "wide": "1 iteration with a wider network",
            "program": "the whole program",
        }
        helped = ", helped by the grader" if self.is_helped else ""
        buckets = f", buckets of {self.bucket_num_bytes} bytes" if self.bucket_num_bytes else ""
        timed = "" if self.purpose == "values" else f", {self.purpose} {self.number}"
        return f"{told[self.extent]}{helped}{buckets}{timed}{self.perturbation}"

    @property
    def num_examples(self) -> int:
        """Return how many examples the training set has."""
        special = {"late": _NUM_IN_ALL * BATCH_SIZE, "wide": _NUM_TEST_EXAMPLES}
        return special.get(self.extent, NUM_EXAMPLES)

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same images for every rank: pictures, half covered by noise.

        In pictures alone many neighbouring pixels are equal, and which of two equal numbers is the
        greatest would be decided by rounding.
        """
        if self.purpose == "yardstick":
            script: dict[str, Any] = {"how": self.how}
        else:
            script = {"file": self.file, "takes_flags": self.takes_flags, "extent": self.extent}
            script |= {"exchange": self.exchange, "is_helped": self.is_helped}
        if self.bucket_num_bytes:
            script["bucket_num_bytes"] = self.bucket_num_bytes
        same: dict[str, Any] = {
            **script,
            "num_steps": NUM_STEPS,
            "num_earlier_steps": (earlier := self._num_earlier_steps(random)),
            "pauses": self._pauses(random, earlier),
            "phase": self.phase,
            "first_channels": self.first_channels,
            "places": random.random(NUM_PLACES * (self.extent == "wide")),
            "seed": int(random.integers(1 << 30)),
            "num_examples": self.num_examples,
            **_images(random, data, "train", min(self.num_examples, NUM_EXAMPLES)),
            **_images(random, data, "test", _NUM_TEST_EXAMPLES),
        }
        if self.extent == "wide":
            same["first_channels"] = int(random.integers(*_WIDE))
        return [same] * ranks

    def _num_earlier_steps(self, random: np.random.Generator) -> int:
        """Return how many come first, any number alike: who stops early is mostly seen."""
        most = _NUM_IN_ALL - NUM_STEPS
        return int(random.integers(NUM_STEPS, most)) if self.extent == "late" else 0

    def _pauses(self, random: np.random.Generator, earlier: int) -> NDArray[np.int64]:
        """Return in which iterations the ranks pause, and each time at which parameter's gradient.

        In none of iteration 0, where ranks begin apart; at no parameter of the first two layers,
        whose gradients end a backward pass.
        """
        if self.extent != "late":
            return np.zeros((0, 2), dtype=np.int64)
        iterations = 1 + random.permutation(earlier + NUM_STEPS - 1)[:NUM_PAUSED]
        parameters = random.integers(6, len(shapes(self.first_channels)), size=NUM_PAUSED)
        return np.stack([np.sort(iterations), parameters], axis=1)

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of what the probe saw of the training; of a yardstick nothing."""
        if self.purpose == "yardstick":
            return {}
        seen: dict[str, Array | Text] = {
            "start": Array("float32", (None,)),
            "examples": Array("int64", (None,)),
            "batch_sizes": Array("int64", (None,)),
            "counts": Array("int64", (3,)),
            "respelt": Text(),
            "created_folders": Text(),
        }
        if self.extent == "wide":
            return {
                **seen,
                **dict.fromkeys(("local", "used"), Array("float32", (None, NUM_PLACES))),
            }
        if self.extent not in ("epoch", "late", "exchange"):
            return seen
        return {**seen, **_OF_STEPS, "old_names": Text()}


@dataclass(frozen=True, kw_only=True)
class Printing(Case):
    """One run of a script that is long enough to print losses: they and its steps are seen."""

    file: str
    num_full_batches: int
    first_channels: int = 1
    extent: str = "printing"
    purpose: str = "values"

    @property
    def num_examples(self) -> int:
        """Return the size of the training set: full batches, and a smaller one."""
        return self.num_full_batches * BATCH_SIZE + BATCH_SIZE // 2

    @property
    def label(self) -> str:
        """Return the length of the training."""
        return f"the whole program, {self.num_full_batches + 1} iterations"

    @property
    def time_limit_s(self) -> float:
        """Return six times what our own program takes on two cores."""
        return 12.0

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return a few examples: the probe repeats them until there are enough."""
        same: dict[str, Any] = {
            "file": self.file,
            "seed": int(random.integers(1 << 30)),
            "num_examples": self.num_examples,
            **_images(random, data, "train", _NUM_TEST_EXAMPLES),
            **_images(random, data, "test", _NUM_TEST_EXAMPLES),
            "drawn_step": int(random.integers(NUM_STEPS, self.num_full_batches)),
        }
        return [same] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the losses, of what was printed, and of the steps.

        The images are those of the drawn step alone.
        """
        return {
            **_OF_STEPS,
            "start": Array("float32", (None,)),
            "examples": Array("int64", (None,)),
            "batch_sizes": Array("int64", (None,)),
            "counts": Array("int64", (3,)),
            "losses": Array("float64", (None,)),
            "printed": Text(),
            "printed_before": Array("int64", (None,)),
            "created_folders": Text(),
            "old_names": Text(),
        }


def cases_by_ranks(
    file: str, *, how: str = "", exchange: str = ""
) -> dict[int, tuple[Training, ...]]:
    """Return what a script on several nodes is run with, by the number of nodes.

    how: with which way of averaging its time on 2 nodes is compared, if it is. exchange: the
    operation that carries the gradients.
    """
    epoch = Training("train", file=file, exchange=exchange, subject="training")
    return {
        4: (
            Training("train", file=file, extent="first batch"),
            epoch,
            replace(epoch, extent="program", exchange="", first_channels=1),
            replace(epoch, extent="late", first_channels=1),
            replace(epoch, extent="wide", exchange=""),
        ),
        2: timing_cases(file, how, 0, values=epoch) if how else (epoch,),
        1: (epoch,),
    }


def timing_cases(
    file: str, how: str, attempt: int, values: Training | None = None
) -> tuple[Training, ...]:
    """Return yardsticks and as many timed runs, more of them at later attempts.

    values: a run that is judged by its values; it comes between, and loads what is needed.
    """
    yardstick, timing = (
        [
            Training(
                probe,
                file=file,
                takes_flags=how != "nothing",
                first_channels=1,
                purpose=purpose,
                number=10 * attempt + i,
                how=how,
                subject="training" if purpose == "timing" else "",
            )
            for i in range(3 if attempt else 2)
        ]
        for probe, purpose in (("train_plainly", "yardstick"), ("train", "timing"))
    )
    return (*yardstick, *([values] if values else []), *timing)


def first_batch_of(launch: Launch) -> Launch:
    """Return the case of a launch that ends before anything is averaged."""
    return launch.having(extent="first batch")


def epoch_of(launch: Launch) -> Launch:
    """Return the case of a launch whose training is looked at step by step."""
    return launch.having(extent="epoch", purpose="values")


def late_of(launch: Launch) -> Launch:
    """Return the case of a launch that looks at later steps."""
    return launch.having(extent="late")


def _images(random: np.random.Generator, data: Data, kind: str, number: int) -> dict[str, Any]:
    found = data.cifar10()
    rows = random.integers(len(found.train_images), size=number)
    noise = random.integers(128, size=(number, *IMAGE), dtype=np.uint8)
    return {
        f"{kind}_images": found.train_images[rows] // 2 + noise,
        f"{kind}_labels": found.train_labels[rows],
    }
