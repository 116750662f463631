"""What both trainings are called with, and what their models were trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log, log2
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    Array,
    Case,
    Data,
    Finding,
    Outcome,
    Text,
    WrongAnswer,
    case_context,
    counted,
    found,
)

from . import softmax_regression
from .softmax_regression import Labels, Vector

Rows = NDArray[np.int64]

NUM_FEATURES = 5
NUM_CLASSES = 3
NUM_PARAMETERS = softmax_regression.num_parameters(NUM_FEATURES, NUM_CLASSES)
_NETS_FEATURES = (3_692, 7_384)
"""From and below which number features are drawn, for half of Net's 22,154 parameters to all."""

ATOL = 1e-5
"""A hundred roundings of float32 numbers around 1; the usual mistakes differ by 1e-3 and more."""
GRADIENT_ATOL = 1e-4
"""Of gradients around 1, at weights that differ from the oracle's by rounding."""

_FOR_EACH_BATCH = (
    *("rows_per_batch", "gradients"),
    *("processes", "threads", "forward_passes", "ended_ns"),
)


@dataclass(frozen=True, kw_only=True)
class Training(Case):
    """One training of a small model on given data; subclasses say by what."""

    num_examples: int
    epochs: int
    most_epochs: int = 0
    """Where it is not 0, a number from epochs to this one is drawn; see as_drawn."""
    batch_size: int
    lr: float
    """A power of two: its product with a gradient is exact, in whatever order it is applied."""
    seed: int = 0
    is_real_size: bool = False
    """The model has about as many parameters as the network of the assignment; drawn."""

    @property
    def label(self) -> str:
        """Return the size of the training."""
        epochs = counted(self.epochs, "epoch")
        if self.most_epochs:
            epochs = f"{self.epochs} to {self.most_epochs} epochs"
        return (
            f"{epochs} of {self.num_examples} examples in batches of {self.batch_size}"
            + (f", seed {self.seed}" if self.seed else "")
            + (", a model as large as a Net" if self.is_real_size else "")
            + self.perturbation
        )

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same examples, start weights and settings for every rank."""
        features = int(random.integers(*_NETS_FEATURES)) if self.is_real_size else NUM_FEATURES
        examples, labels = _examples(random, self.num_examples, features)
        weights, biases = start_of(random, features)
        epochs, lr = self.epochs, self.lr
        if self.most_epochs:
            epochs = int(np.exp(random.uniform(log(self.epochs), log(self.most_epochs))))
            # All steps together stay about as long.
            lr /= 2 ** ceil(log2(epochs / self.epochs))
        same = {
            "inputs": examples,
            "labels": labels,
            "weights": weights,
            "biases": biases,
            "epochs": epochs,
            "lr": lr,
            "batch_size": self.batch_size,
            "seed": self.seed,
        }
        return [dict(same) for _ in range(ranks)]

    @property
    def time_limit_s(self) -> float:
        """Return what a training of the real length may take."""
        return 60.0 if self.most_epochs else 0.0

    def as_drawn(self, outcome: Outcome) -> Self:
        """Return the case with the number of epochs and the lr that were drawn."""
        given = outcome.inputs[0]
        return replace(self, most_epochs=0, epochs=int(given["epochs"]), lr=float(given["lr"]))

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the trained parameters and of what they were trained on."""
        weights = Array("float32", (NUM_CLASSES, None if self.is_real_size else NUM_FEATURES))
        return {
            "weights": weights,
            "biases": Array("float32", (NUM_CLASSES,)),
            "given_weights": weights,
            "given_biases": Array("float32", (NUM_CLASSES,)),
            "returned": Text(),
            **batch_results(None if self.is_real_size else NUM_PARAMETERS),
        }


def batch_results(num_parameters: int | None = NUM_PARAMETERS) -> dict[str, Array | Text]:
    """Return the form of what is noted of the batches."""
    numbers = ("rows", *(name for name in _FOR_EACH_BATCH if name != "gradients"))
    return {
        "gradients": Array("float32", (None, num_parameters)),
        **{name: Array("int64", (None,)) for name in numbers},
    }


def start_of(
    random: np.random.Generator, features: int = NUM_FEATURES
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return random start weights and biases."""
    weights = random.uniform(-0.5, 0.5, (NUM_CLASSES, features))
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


def softmax_twice(gradient: Vector, weights: Vector, given: tuple[Vector, Labels]) -> list[Finding]:
    """Return that a gradient is that of a loss which takes a softmax of the probabilities."""
    double = softmax_regression.gradient_of_double_softmax(weights, *given)
    if not np.allclose(gradient, double, rtol=GRADIENT_ATOL, atol=GRADIENT_ATOL):
        return []
    text = "The loss applies a softmax to the probabilities, as CrossEntropyLoss does."
    return [found("loss.softmax_twice", text, help="use the loss from training.py")]


def assert_size(case: Training, outcome: Outcome) -> None:
    """Assert that what comes back has the drawn size of the model. Raises WrongAnswer."""
    with case_context(case, outcome):
        size = outcome.inputs[0]["weights"].size + NUM_CLASSES
        for rank, gradients in enumerate(outcome["gradients"]):
            sizes = {
                "model": outcome["weights"][rank].size + NUM_CLASSES,
                "given model": outcome["given_weights"][rank].size + NUM_CLASSES,
                "gradient": gradients.shape[1] if len(gradients) else size,
            }
            for what, number in sizes.items():
                if number != size:
                    text = f"The {what}{_on_rank(outcome, rank)} has {number} parameters; "
                    text += f"expected {size}."
                    raise WrongAnswer.of("training.other_size", text, rank=rank, what=what)


def assert_given_model(case: Training, outcome: Outcome, function: str) -> None:
    """Assert that the model that was given is the one that is returned, and has been trained.

    Raises WrongAnswer with what is returned instead.
    """
    with case_context(case, outcome):
        for rank, returned in enumerate(outcome["returned"]):
            if returned == "the given model":
                continue
            facts: dict[str, Any] = {"function": function, "rank": rank}
            who = f"On rank {rank}, {function}" if outcome.ranks > 1 else function
            if returned == "nothing":
                text = f"{who} returned None; it must return the model."
                raise WrongAnswer.of("training.returned_nothing", text, **facts)
            text = f"{who} returned another model, not the given one."
            helps = "train the given model in place and return it"
            raise WrongAnswer.of("training.returned_another_model", text, help=helps, **facts)


def _on_rank(outcome: Outcome, rank: int) -> str:
    return f" on rank {rank}" if outcome.ranks > 1 else ""


def packed(weights: NDArray[np.float32], biases: NDArray[np.float32]) -> Vector:
    """Return weights and biases as the oracle's vector."""
    return np.concatenate([weights.ravel(), biases]).astype(np.float64)


def unpacked(parameters: Vector) -> dict[str, Vector]:
    """Return the arrays of a packed vector by the names that they have in the model."""
    num_features = len(parameters) // NUM_CLASSES - 1
    weights, biases = softmax_regression.unpacked(parameters, num_features)
    return {"weight": weights, "bias": biases}


def parameter_name(place: int, num_parameters: int) -> str:
    """Return the name of one number of a packed vector, such as `weight[1, 2]` or `bias[3]`."""
    numbers = np.arange(num_parameters, dtype=float)
    name, array = next(each for each in unpacked(numbers).items() if place in each[1])
    return f"{name}{np.argwhere(array == place)[0].tolist()}"


def trained_batches(case: Training, outcome: Outcome, rank: int) -> list[Rows]:
    """Return the examples of every batch that a rank, with all its processes, was trained on.

    Raises WrongAnswer when they are not examples of the dataset, far too many, or told of otherwise
    than batch by batch.
    """
    rows, lengths = outcome["rows"][rank], outcome["rows_per_batch"][rank]
    most = 2 * case.num_examples * case.epochs
    if len(lengths) > most or len(rows) > 8 * most:
        raise WrongAnswer.of(
            "training.too_many_batches",
            f"The model{_on_rank(outcome, rank)} was trained on {len(lengths)} batches with "
            f"{len(rows)} examples in all.",
            help=f"{case.num_examples} examples in {case.epochs} "
            f"epoch{'s' * (case.epochs != 1)} make {case.num_examples * case.epochs} in all",
            num_batches=len(lengths),
            num_examples=len(rows),
            rank=rank,
        )
    told: dict[str, Any] = {name: len(outcome[name][rank]) for name in _FOR_EACH_BATCH}
    is_cut_up = ((lengths >= 0) & (lengths <= len(rows))).all() and lengths.sum() == len(rows)
    if not is_cut_up or set(told.values()) != {len(lengths)}:
        numbers = ", ".join(f"{number} {name}" for name, number in told.items())
        raise WrongAnswer.of(
            "record.batches_inconsistent",
            f"The record of the batches is inconsistent{_on_rank(outcome, rank)}: "
            f"{numbers}, lengths that add up to {lengths.sum()}, and {len(rows)} examples.",
            **told,
            total_length=lengths.sum(),
            num_examples=len(rows),
        )
    if (rows < 0).any() or (rows >= case.num_examples).any():
        model = f"The model{_on_rank(outcome, rank)}"
        text = f"{model} was trained on inputs that are not examples from the dataset."
        helps = "pass the dataset's inputs to the model unchanged"
        raise WrongAnswer.of("training.other_inputs", text, help=helps, rank=rank)
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


def _examples(
    random: np.random.Generator, number: int, features: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return examples of classes that overlap: each is its class's centre and some noise.

    They are as long with many features as with few, so that the same steps suit them.
    """
    labels = np.arange(number) % NUM_CLASSES
    centres = random.choice([-1.0, 1.0], (NUM_CLASSES, features))
    inputs = centres[labels] + random.standard_normal((number, features))
    inputs *= np.sqrt(NUM_FEATURES / features)
    order = random.permutation(number)
    return inputs[order].astype(np.float32), labels[order].astype(np.int64)
