"""What the network is run on, and what must come of it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.judge.findings import NotProven, WrongAnswer
from grader.model import Outcome
from grader.suite.case import Array, Case, Data, Text
from grader.suite.wording import case_context

from .layers import ASKED, DROPOUT, NAMES, Layer, difference, layers
from .recomputation import NotRecomputable, output_of

NUM_CLASSES = 10
_IMAGE_SHAPE = (1, 28, 28)
_UNREADABLE = (TypeError, ValueError, OverflowError, RecursionError)
"""What reading a text raises that is no list of lists of whole numbers; Infinity is none."""


@dataclass(frozen=True, kw_only=True)
class Network(Case):
    """One batch of images through a new Net()."""

    probe: str = "run_network"
    batch_size: int

    @property
    def label(self) -> str:
        """Return the size of the batch."""
        return f"a batch of {self.batch_size}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return random images."""
        images = random.random((self.batch_size, *_IMAGE_SHAPE)).astype(np.float32)
        return [{"images": images, "seed": 1}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the operations and of two outputs."""
        operations, output = Text(max_num_chars=1 << 17), Array("float32", (None, None))
        return {
            "in_training": operations,
            "in_evaluation": operations,
            "output_in_training": output,
            "output": output,
            "output_again": output,
            "parameters": Array("float32", (None,), max_num_bytes=1 << 24),
            "parameter_shapes": Text(max_num_chars=1 << 14),
        }


def assert_layers(case: Network, outcome: Outcome) -> None:
    """Assert that the layers run in training are those of the sheet, in its order.

    Raises WrongAnswer with the first that is another one, NotProven when the outputs do not follow
    from the layers.
    """
    with case_context(case, outcome):
        found = _layers(outcome, "in_training")
        if problem := difference(found, ASKED):
            raise WrongAnswer(f"{problem}. Asked for are {NAMES}")
        _assert_output_follows(outcome)


def _assert_output_follows(outcome: Outcome) -> None:
    """Assert that the layers said to have run give the outputs that came back."""
    # A dropout that never ends is another test's business.
    found = [each for each in _layers(outcome, "in_evaluation") if each.name != DROPOUT]
    still_drops = len(found) < len(_layers(outcome, "in_evaluation"))
    (images,) = (given["images"] for given in outcome.inputs)
    (output,), (dropped,) = outcome["output"], outcome["output_in_training"]
    try:
        expected = output_of(images, found, _parameters(outcome))
    # Shapes come from a rank: what does not fit together can fail anywhere.
    except (NotRecomputable, ArithmeticError, IndexError, MemoryError, *_UNREADABLE) as error:
        raise NotProven(
            f"the output could not be computed again from the layers and parameters ({error}); a "
            "person should look"
        ) from None
    if not still_drops and not (
        output.shape == expected.shape and np.allclose(output, expected, rtol=1e-3, atol=1e-5)
    ):
        raise NotProven(
            "the output is not what the layers make of the images with the network's parameters; "
            "a person should look"
        )
    if dropped.shape == output.shape and np.array_equal(dropped, output):
        raise NotProven(
            "a dropout is said to have run in training, but the output is that of evaluation; a "
            "person should look"
        )


def assert_probabilities(case: Network, outcome: Outcome) -> None:
    """Assert that each image gets the probabilities of ten classes.

    Raises WrongAnswer with the shape, or with a row that does not add up to one.
    """
    with case_context(case, outcome):
        (output,) = outcome["output"]
        if output.shape != (case.batch_size, NUM_CLASSES):
            raise WrongAnswer(
                f"the output has shape {output.shape}, expected {(case.batch_size, NUM_CLASSES)}: "
                "a row for every image, a column for every class"
            )
        sums = output.sum(axis=1)
        wrong = np.flatnonzero((np.abs(sums - 1) > 1e-5) | (output < 0).any(axis=1))
        if len(wrong):
            raise WrongAnswer(
                f"row {wrong[0]} of the output adds up to {sums[wrong[0]]:.4g}, its least number "
                f"is {output[wrong[0]].min():.4g}; probabilities of the classes add up to 1, and "
                "softmax gives them"
            )


def assert_dropout_only_in_training(case: Network, outcome: Outcome) -> None:
    """Assert that after eval() nothing is dropped: the same images give the same output.

    Raises WrongAnswer when a dropout ran, or the outputs differ.
    """
    with case_context(case, outcome):
        dropped = [layer for layer in _layers(outcome, "in_evaluation") if layer.name == DROPOUT]
        first, second = outcome["output"][0], outcome["output_again"][0]
        if dropped or not np.array_equal(first, second):
            raise WrongAnswer(
                "after eval() the network still drops activations, and gives the same images "
                "other outputs each time; nn.Dropout knows when to stop, F.dropout has to be told "
                "by training=self.training"
            )


def _parameters(outcome: Outcome) -> list[np.ndarray[Any, Any]]:
    """Return the network's parameters; none where shapes and numbers do not fit together."""
    (numbers,) = outcome["parameters"]
    try:
        shapes = [tuple(map(int, shape)) for shape in json.loads(outcome["parameter_shapes"][0])]
        ends = np.cumsum([math.prod(shape) for shape in shapes], dtype=np.int64)
        pieces = np.split(numbers, ends)
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=False)]
    except _UNREADABLE:
        return []


def _layers(outcome: Outcome, mode: str) -> list[Layer]:
    """Return the layers that ran; what the rank sent otherwise than asked counts as nothing."""
    try:
        pairs = json.loads(outcome[mode][0])
        return layers([(str(name), [int(each) for each in shape]) for name, shape in pairs])
    except _UNREADABLE:
        return []
