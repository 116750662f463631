"""What both trainings are called with, and what their models were trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Array, Case, Data, Outcome, Text, WrongAnswer, case_context

from . import softmax_regression
from .softmax_regression import Labels, Vector
from .sources import MAX_CHARS, SOLVERS

Rows = NDArray[np.int64]

NUM_FEATURES = 5
NUM_CLASSES = 3
NUM_PARAMETERS = softmax_regression.num_parameters(NUM_FEATURES, NUM_CLASSES)

ATOL = 1e-5
"""A hundred roundings of float32 numbers around 1; the usual mistakes differ by 1e-3 and more."""

_FOR_EACH_BATCH = (
    *("rows_per_batch", "gradients"),
    *("processes", "threads", "ended_ns"),
)


@dataclass(frozen=True, kw_only=True)
class Training(Case):
    """One training of a small model on given data; subclasses say by what."""

    num_examples: int
    epochs: int
    batch_size: int
    lr: float
    """A power of two: its product with a gradient is exact, in whatever order it is applied."""
    seed: int = 0
    watched_packages: tuple[str, ...] = tuple(sorted(SOLVERS))

    @property
    def label(self) -> str:
        """Return the size of the training."""
        epochs = "1 epoch" if self.epochs == 1 else f"{self.epochs} epochs"
        return (
            f"{epochs} of {self.num_examples} examples in batches of {self.batch_size}"
            + (f", seed {self.seed}" if self.seed else "")
            + (", no buffering" if self.synchronous_sends else "")
        )

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same examples, start weights and settings for every rank."""
        examples, labels = _examples(random, self.num_examples)
        weights, biases = start_of(random)
        same = {
            "inputs": examples,
            "labels": labels,
            "weights": weights,
            "biases": biases,
            "epochs": self.epochs,
            "lr": self.lr,
            "batch_size": self.batch_size,
            "seed": self.seed,
            "solvers": sorted(SOLVERS),
        }
        return [dict(same) for _ in range(ranks)]

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the trained parameters and of what they were trained on."""
        return {
            "weights": Array("float32", (NUM_CLASSES, NUM_FEATURES)),
            "biases": Array("float32", (NUM_CLASSES,)),
            "given_weights": Array("float32", (NUM_CLASSES, NUM_FEATURES)),
            "given_biases": Array("float32", (NUM_CLASSES,)),
            "returned": Text(),
            "imports": Text(max_num_chars=MAX_CHARS),
            "gradients": Array("float32", (None, NUM_PARAMETERS)),
            "rows": Array("int64", (None,)),
            **{name: Array("int64", (None,)) for name in _FOR_EACH_BATCH if name != "gradients"},
        }


def start_of(random: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return random start weights and biases."""
    weights = random.uniform(-0.5, 0.5, (NUM_CLASSES, NUM_FEATURES))
    return weights.astype(np.float32), random.uniform(-0.5, 0.5, NUM_CLASSES).astype(np.float32)


def given_start(outcome: Outcome, rank: int) -> Vector:
    """Return the packed parameters that a rank's model had when it was given."""
    given = outcome.inputs[rank]
    return packed(given["weights"], given["biases"])


def trained(outcome: Outcome, rank: int) -> Vector:
    """Return the packed parameters of the model that a rank returned."""
    return packed(outcome["weights"][rank], outcome["biases"][rank])


def learned(case: Training, outcome: Outcome, rank: int, start: Vector) -> Vector:
    """Return what a start becomes by plain steps along the gradients that a rank has computed."""
    return start - case.lr * outcome["gradients"][rank].astype(np.float64).sum(axis=0)


def assert_given_model(case: Training, outcome: Outcome, function: str) -> None:
    """Assert that the model that was given is the one that is returned, and has been trained.

    Raises WrongAnswer with what is returned instead.
    """
    with case_context(case, outcome):
        for rank, returned in enumerate(outcome["returned"]):
            if returned == "the given model":
                continue
            who = f"rank {rank}: " if outcome.ranks > 1 else ""
            if returned == "nothing":
                raise WrongAnswer(f"{who}{function} returned None; it is to return the model")
            raise WrongAnswer(
                f"{who}{function} returned another model than the one it was given: train the "
                "given model itself and return it, for who called may go on with either"
            )


def packed(weights: NDArray[np.float32], biases: NDArray[np.float32]) -> Vector:
    """Return weights and biases as the oracle's vector."""
    return np.concatenate([weights.ravel(), biases]).astype(np.float64)


def unpacked(parameters: Vector) -> dict[str, Vector]:
    """Return the arrays of a packed vector by the names that they have in the model."""
    weights, biases = softmax_regression.unpacked(parameters, NUM_FEATURES)
    return {"weight": weights, "bias": biases}


def trained_batches(case: Training, outcome: Outcome, rank: int) -> list[Rows]:
    """Return the examples of every batch that a rank, with all its processes, was trained on.

    Raises WrongAnswer when they are not examples of the dataset, far too many, or told of otherwise
    than batch by batch.
    """
    rows, lengths = outcome["rows"][rank], outcome["rows_per_batch"][rank]
    most = 2 * case.num_examples * case.epochs
    if len(lengths) > most or len(rows) > 8 * most:
        raise WrongAnswer(
            f"{len(lengths)} batches with {len(rows)} examples were trained on; "
            f"{case.num_examples} examples in {case.epochs} epochs make "
            f"{case.num_examples * case.epochs} in all"
        )
    told = {name: len(outcome[name][rank]) for name in _FOR_EACH_BATCH}
    is_cut_up = ((lengths >= 0) & (lengths <= len(rows))).all() and lengths.sum() == len(rows)
    if not is_cut_up or set(told.values()) != {len(lengths)}:
        numbers = ", ".join(f"{number} {name}" for name, number in told.items())
        raise WrongAnswer(
            f"what is told of the batches does not fit together: {numbers}, and lengths that add "
            f"up to {lengths.sum()}; expected one of each for every batch, and {len(rows)} examples"
        )
    if (rows < 0).any() or (rows >= case.num_examples).any():
        raise WrongAnswer(
            "the model was trained on inputs that are not examples of the dataset: give it the "
            "inputs as the dataset has them"
        )
    ends = np.cumsum(lengths)
    return [rows[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def examples(outcome: Outcome, rows: Rows) -> tuple[Vector, Labels]:
    """Return inputs and labels of the given rows."""
    given = outcome.inputs[0]
    return given["inputs"][rows].astype(np.float64), given["labels"][rows]


def trained_serially(
    case: Training, outcome: Outcome, start: Vector, batches: Sequence[Rows]
) -> Vector:
    """Return what plain SGD makes of a start on these batches."""
    return softmax_regression.train(start, case.lr, [examples(outcome, rows) for rows in batches])


def assert_epochs_of(case: Training, who: str, batches: Sequence[Rows]) -> Rows:
    """Assert that batches are `epochs` times the same examples; return which ones, sorted.

    who: the rank or process they belong to. Within an epoch each example comes once, in any order.
    Raises WrongAnswer with what comes how often.
    """
    rows = np.concatenate([np.zeros(0, np.int64), *batches])
    part, times = np.unique(rows, return_counts=True)
    odd = np.flatnonzero(times != case.epochs)
    if len(odd):
        raise WrongAnswer(
            f"{who} was trained on example {part[odd[0]]} {_times(times[odd[0]])}, expected "
            f"{_times(case.epochs)}: once in every epoch"
        )
    for number, epoch in enumerate(np.split(rows, case.epochs)):
        if len(np.unique(epoch)) < len(epoch):
            raise WrongAnswer(
                f"{who}: epoch {number} has an example twice and lacks another; an epoch goes "
                "through the whole part once"
            )
    return np.asarray(part)


def assert_batch_sizes(case: Training, who: str, batches: Sequence[Rows], part_size: int) -> None:
    """Assert that batches have batch_size examples, the last of an epoch what is left.

    Raises WrongAnswer with the first batch that has another size.
    """
    full, rest = divmod(part_size, case.batch_size)
    expected = ([case.batch_size] * full + [rest] * (rest > 0)) * case.epochs
    found = [len(batch) for batch in batches]
    if found != expected:
        at = next(
            (i for i, pair in enumerate(zip(found, expected, strict=False)) if pair[0] != pair[1]),
            min(len(found), len(expected)),
        )
        told = f"batch {at} of {who} has {found[at]} examples" if at < len(found) else "it is not"
        raise WrongAnswer(
            f"{who} took {len(found)} batches, expected {len(expected)} ({part_size} examples in "
            f"batches of {case.batch_size}, {case.epochs} epochs); {told}"
        )


def assert_disjoint(parts: Mapping[str, Rows], whose: str) -> None:
    """Assert that no example belongs to two parts, and that no part is empty.

    parts: by the words for whom they belong to. Raises WrongAnswer with an example.
    """
    owners: dict[int, str] = {}
    for who, part in parts.items():
        if not len(part):
            raise WrongAnswer(f"{who} was trained on nothing; each is to have a part of its own")
        for row in np.unique(part).tolist():
            if row in owners:
                shared = sum(each in owners for each in np.unique(part).tolist())
                raise WrongAnswer(
                    f"example {row} was trained on by {owners[row]} and by {who} ({shared} "
                    f"examples of {who} belong to others as well); {whose} parts of the data are "
                    "to be disjoint"
                )
        owners.update(dict.fromkeys(part.tolist(), who))


def assert_none_left_out(case: Training, parts: Mapping[str, Rows], whose: str) -> None:
    """Assert that parts together hold every example. Raises WrongAnswer with one that is not."""
    held = np.unique(np.concatenate([np.zeros(0, np.int64), *parts.values()]))
    missing = sorted(set(range(case.num_examples)) - set(held.tolist()))
    if missing:
        raise WrongAnswer(
            f"nobody was trained on example {missing[0]} ({len(missing)} of {case.num_examples} "
            f"examples were left out); {whose} parts together are to be the whole dataset"
        )


def assert_complete(case: Training, batches: Mapping[str, Sequence[Rows]], whose: str) -> None:
    """Assert that each goes through its part once an epoch, and that no example is left out.

    batches: by the words for whom they belong to. Raises WrongAnswer.
    """
    parts = {who: assert_epochs_of(case, who, own) for who, own in batches.items()}
    for who, own in batches.items():
        assert_batch_sizes(case, who, own, len(parts[who]))
    assert_none_left_out(case, parts, whose)


def parts_of(batches: Mapping[str, Sequence[Rows]]) -> dict[str, Rows]:
    """Return the examples that each was trained on, however often."""
    return {who: np.concatenate([np.zeros(0, np.int64), *own]) for who, own in batches.items()}


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _examples(
    random: np.random.Generator, number: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return examples of classes that overlap: each is its class's centre and some noise."""
    labels = np.arange(number) % NUM_CLASSES
    centres = random.choice([-1.0, 1.0], (NUM_CLASSES, NUM_FEATURES))
    inputs = centres[labels] + random.standard_normal((number, NUM_FEATURES))
    order = random.permutation(number)
    return inputs[order].astype(np.float32), labels[order].astype(np.int64)
