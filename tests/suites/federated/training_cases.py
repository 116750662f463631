"""What the four training scripts are run with, and what their ranks trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Array, Case, Data, Outcome, Text, WrongAnswer

from . import lenet

Rows = NDArray[np.int64]

_NUM_TEST = 20
_TIMES_LONGER = (3, 5)
"""What code does once a short run would be over must show, and a run must not take too long."""
_CLASSES = 10
_NUM_PAUSES = 4

_BOUND = 1e3
"""What no parameter of a training that goes well comes near."""


@dataclass(frozen=True, kw_only=True)
class Training(Case):
    """One run of a script: its training examples, and how many each client has of them."""

    file: str
    num_training: int
    client_sizes: tuple[int, ...] = ()
    """Examples of each client; none where there are no clients."""
    is_skewed: bool = False
    """Each client has most of its examples of a few classes."""
    purpose: str = "values"
    """`values`; one of `yardstick` and `timing`, which are compared; or `begun`: see below."""
    number: int = 0
    """Tells cases apart that only differ in being measured again."""
    plan: tuple[int, int] = (3, 100)
    """Epochs and batch size of the yardstick."""
    most_gradients: int = 0
    """Of a script that does not come to its end: it is ended after so many; 0 for all others."""
    keeps_tags: bool = True
    """The tags of such a script's messages count."""
    is_forgiven: bool = True
    """Slips of such a script are mended."""
    inputs_seed: int | None = None
    """That of an earlier case, to have its inputs again."""
    is_longer: bool = False
    """It has several times as many examples, a number that is drawn."""
    num_givers: int = 1
    """Ranks whose gradients or models one rank may add up number by number, which takes longer."""

    @property
    def time_limit_s(self) -> float:
        """Return twice what a loop over all numbers of these models takes in each round."""
        return 6.25 * self.num_givers if self.num_givers > 1 else 0.0

    @property
    def label(self) -> str:
        """Return the number of examples, how they are divided, and what is special."""
        divided = ""
        if self.is_longer:
            divided = f" times {_TIMES_LONGER[0]} to {_TIMES_LONGER[1]}"
        elif len(self.client_sizes) > 1:
            divided = f" ({', '.join(map(str, self.client_sizes))} on the clients)"
        return (
            f"{self.num_training} training examples{divided}"
            + (f", {self.purpose} {self.number}" if self.purpose in ("yardstick", "timing") else "")
            + (", only begun" if self.most_gradients else "")
            + ("" if self.keeps_tags else ", tags ignored")
            + ("" if self.is_forgiven else ", as handed in")
            + self.perturbation
        )

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same examples for every rank: images of each class, with noise.

        Of two equal neighbours, as real images have many, rounding would decide which is greater.
        """
        seed = int(random.integers(1 << 60)) if self.inputs_seed is None else self.inputs_seed
        random = np.random.default_rng(seed)
        least, most = _TIMES_LONGER
        drawn = np.exp(random.uniform(np.log(least), np.log(most + 1))) if self.is_longer else 1
        times = int(drawn)
        num_training = times * self.num_training
        num_examples = num_training + _NUM_TEST
        labels = random.integers(_CLASSES, size=num_examples)
        client_of = np.repeat(
            np.arange(len(self.client_sizes)), times * np.asarray(self.client_sizes, np.int64)
        )
        if self.is_skewed:
            own = random.integers(_CLASSES, size=(len(self.client_sizes), 3))
            of_client = own[client_of, random.integers(3, size=len(client_of))]
            is_own = random.random(len(client_of)) < 0.9
            labels[: len(client_of)] = np.where(is_own, of_client, labels[: len(client_of)])
        cifar10 = data.cifar10()
        of_class = [np.flatnonzero(cifar10.train_labels == label) for label in range(_CLASSES)]
        pictures = cifar10.train_images[[random.choice(of_class[label]) for label in labels]]
        noise = random.normal(64, 25, size=pictures.shape)
        same: dict[str, Any] = {
            "images": np.clip(pictures / 2 + noise, 0, 255).astype(np.uint8),
            "labels": labels.astype(np.int64),
            "num_training": num_training,
            "seed": seed,
        }
        if self.purpose == "yardstick":
            epochs, batch_size = self.plan
            same["plan"] = {"epochs": epochs, "batch_size": batch_size}
        else:
            shuffled = random.permutation(num_training)
            same["client_of"] = client_of[shuffled] if len(client_of) else client_of
            # The labels go with their clients: what was made for one is shuffled to its rows.
            if len(client_of):
                same["images"] = np.concatenate(
                    [same["images"][shuffled], same["images"][num_training:]]
                )
                same["labels"] = np.concatenate(
                    [same["labels"][shuffled], same["labels"][num_training:]]
                )
            same["file"] = self.file
            # No case is short of time less than this one, which is run once.
            # These are run once; cases whose messages are altered are run many times.
            if self.synchronous_sends or self.is_longer:
                same["num_pauses"] = _NUM_PAUSES
            if self.most_gradients:
                same["most_gradients"] = self.most_gradients
                same["keeps_tags"] = self.keeps_tags
                same["is_forgiven"] = self.is_forgiven
        return [same] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the model, and of what was trained on."""
        if self.purpose == "yardstick":
            return {}
        return {
            "model": Array("float32", (None,), finite=False),
            "gradient": Array("float32", (None,), finite=False),
            "aggregate": Array("float32", (None,), finite=False),
            "problem": Text(),
            "rows": Array("int64", (None,)),
            "rows_per_batch": Array("int64", (None,)),
            "seen": Array("float32", (None, None), finite=False),
            "figures": Text(),
            "num_steps": Array("int64", (1,)),
            "optimizer_steps": Array("int64", (1,)),
            "paused_ns": Array("int64", (None, 2)),
        }


class Trained:
    """What one run of a script brought back, in the judge's words.

    Nothing in it is believed: its methods raise WrongAnswer for what does not fit together.
    """

    def __init__(self, case: Training, outcome: Outcome) -> None:
        self.case = case
        self.outcome = outcome
        given = outcome.inputs[0]
        self.num_training = int(given["num_training"])
        self.labels: Rows = given["labels"][: self.num_training]
        self._images = given["images"][: self.num_training]
        self.client_of: Rows = np.asarray(given.get("client_of", ()), dtype=np.int64)
        self._gradients: dict[tuple[int, int], lenet.Vector] = {}

    def examples(self, rows: Rows) -> tuple[lenet.Vector, Rows]:
        """Return images as the scripts get them, and labels, of the given rows."""
        scaled = (self._images[rows].astype(np.float32) / 255 - 0.5) / 0.5
        return scaled, self.labels[rows]

    def gradient(self, parameters: lenet.Vector, rows: Rows) -> lenet.Vector:
        """Return the gradient of the mean loss over the given rows."""
        # As the scripts compute: float32 is what the comparison allows for.
        return lenet.gradient(parameters.astype(np.float32), *self.examples(rows)).astype(float)

    def gradient_at(self, rank: int, number: int) -> lenet.Vector:
        """Return what gradient `number` of a rank is, of its batch and the model it saw."""
        key = (rank, number)
        if key not in self._gradients:
            batch = self.batches(rank)[number]
            self._gradients[key] = self.gradient(self.seen(rank, number), batch)
        return self._gradients[key]

    def model(self, rank: int) -> lenet.Vector:
        """Return the packed `model` of a rank after the script."""
        return _finite(self.model_found(rank), rank, "when the script ended")

    def model_found(self, rank: int) -> lenet.Vector:
        """Return the packed `model` of a rank, whatever has become of its numbers."""
        problem = self.outcome["problem"][rank]
        if problem:
            there_is = problem[:60]
            text = (
                f"When the script ended, rank {rank}'s `model` was not a network: found {there_is}."
            )
            helps = "assign the trained network to the global variable `model`, not in a function"
            raise WrongAnswer.of("model.missing", text, help=helps, rank=rank, problem=there_is)
        model = self.outcome["model"][rank]
        if model.shape != (lenet.NUM_PARAMETERS,):
            has = f"Rank {rank}'s `model` has {len(model)} parameters"
            text = f"{has}; Net in utils.py has {lenet.NUM_PARAMETERS}."
            raise WrongAnswer.of("model.wrong_size", text, rank=rank, num_parameters=len(model))
        return np.asarray(model, dtype=np.float64)

    def gradient_left(self, rank: int) -> lenet.Vector | None:
        """Return what the parameters of a rank's `model` have as `.grad` after the script, if any.

        A step may have used it or not: it shows what a rank has made of the gradients.
        """
        gradient = np.asarray(self.outcome["gradient"][rank], dtype=np.float64)
        is_there = gradient.shape == (lenet.NUM_PARAMETERS,) and np.isfinite(gradient).all()
        return gradient if is_there else None

    def batches(self, rank: int) -> list[Rows]:
        """Return the rows of every gradient that a rank computed, in order."""
        rows = self.outcome["rows"][rank]
        lengths = self.outcome["rows_per_batch"][rank]
        if (lengths < 0).any() or lengths.sum() != len(rows):
            text = f"The grader's record of rank {rank}'s batches is inconsistent."
            raise WrongAnswer.of("batches.inconsistent", text, rank=rank)
        if (rows < 0).any() or (rows >= self.num_training).any():
            text = f"Rank {rank} trained on images that are not training examples from load_data()."
            helps = "compare the network's inputs with the data loader's batches"
            raise WrongAnswer.of("batches.unknown_images", text, help=helps, rank=rank)
        ends = np.cumsum(lengths)
        return [rows[end - length : end] for end, length in zip(ends, lengths, strict=True)]

    @property
    def has_diverged(self) -> bool:
        """Return whether a model has grown beyond all bounds while it was trained."""
        return any(seen.size and not (np.abs(seen) < _BOUND).all() for seen in self.outcome["seen"])

    def seen(self, rank: int, number: int) -> lenet.Vector:
        """Return the packed parameters with which a rank computed gradient `number`."""
        seen = self.outcome["seen"][rank]
        if seen.shape != (len(self.outcome["rows_per_batch"][rank]), lenet.NUM_PARAMETERS):
            net = f"Net in utils.py has {lenet.NUM_PARAMETERS} parameters"
            text = f"Rank {rank} trained a network of a different size; {net}."
            raise WrongAnswer.of("model.other_network", text, rank=rank)
        return _finite(seen[number], rank, f"at batch {number}")


def _finite(parameters: Any, rank: int, when: str) -> lenet.Vector:
    if not np.isfinite(parameters).all():
        text = f"Rank {rank}'s model had infinite or NaN values {when}."
        raise WrongAnswer.of("model.not_finite", text, rank=rank)
    return np.asarray(parameters, dtype=np.float64)


@dataclass(frozen=True)
class Shared:
    """A training example that appears twice."""

    example: int
    ranks: tuple[int, ...]
    """That have it: two of them, or one."""
    is_all: bool
    """The two have the same examples."""


def shared_example(rows_by_rank: Mapping[int, Rows]) -> Shared | None:
    """Return the first training example that appears twice, or None."""
    owner: dict[int, int] = {}
    for rank, rows in rows_by_rank.items():
        for row in map(int, rows):
            if row in owner:
                other = owner[row]
                is_all = set(map(int, rows)) == set(map(int, rows_by_rank[other]))
                return Shared(row, tuple(sorted({other, rank})), is_all)
            owner[row] = rank
    return None


def some_text(some: Rows, num_all: int, what: str = "examples") -> str:
    """Return `2 of 50 examples (numbers 3, 8)`."""
    noun = "number" if len(some) == 1 else "numbers"
    numbers = ", ".join([*map(str, some[:3]), *(["..."] if len(some) > 3 else [])])
    return f"{len(some)} of {num_all} {what} ({noun} {numbers})"
