"""What the network is run on, and what must come of it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.api import (
    Array,
    Case,
    Data,
    Finding,
    NotProven,
    Outcome,
    Text,
    WrongAnswer,
    case_context,
    found,
)

from .layers import (
    ASKED,
    CONVOLUTION,
    DROPOUT,
    LINEAR,
    Layer,
    difference,
    kinds_difference,
    layers,
    layers_told,
)
from .recomputation import NotRecomputable, output_of

NUM_CLASSES = 10
_NUM_WEIGHTED = sum(layer in (CONVOLUTION, LINEAR) for layer in ASKED)
_IMAGE_SHAPE = (1, 28, 28)
_SEVERAL_IMAGES = (3, 65)
_UNREADABLE = (TypeError, ValueError, OverflowError, RecursionError)
"""What reading a text raises that is no list of lists of whole numbers; Infinity is none."""


@dataclass(frozen=True, kw_only=True)
class Network(Case):
    """One batch of images through a new Net()."""

    probe: str = "run_network"
    batch_size: int
    """0 where it is drawn: code could be right for one known size only."""

    @property
    def label(self) -> str:
        """Return the size of the batch."""
        return f"a batch of {self.batch_size or 'several images'}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return random images."""
        number = self.batch_size or int(np.exp(random.uniform(*np.log(_SEVERAL_IMAGES))))
        images = random.random((number, *_IMAGE_SHAPE)).astype(np.float32)
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
            "slopes": Array("float64", (None,)),
            "no_backward": Text(),
            "parameters": Array("float32", (None,), max_num_bytes=1 << 24),
            "parameter_shapes": Text(max_num_chars=1 << 14),
        }


@dataclass(frozen=True, kw_only=True)
class Layers(Network):
    """The same, to see which layers run: those before a crash, too."""

    probe: str = "run_layers"

    @property
    def label(self) -> str:
        """Return what is looked at, and the size of the batch."""
        return f"the layers of {super().label}"

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the operations."""
        operations = Text(max_num_chars=1 << 17)
        return {"in_training": operations, "crash": Text(), "in_any_size": operations}


def assert_all_layers(case: Layers, outcome: Outcome) -> None:
    """Assert that the layers asked for run in training, and no others, in whatever order.

    Raises WrongAnswer with what is missing or too much.
    """
    with case_context(case, outcome):
        if problem := kinds_difference(_layers(outcome, "in_training"), ASKED):
            raise WrongAnswer(*(_crash(outcome) or problem))


def assert_all_but_sizes(case: Layers, outcome: Outcome) -> None:
    """Assert that the layers would run in their order if linear layers took any size.

    Raises WrongAnswer with the first that is another one.
    """
    with case_context(case, outcome):
        if problem := difference(_layers(outcome, "in_any_size"), ASKED):
            raise WrongAnswer(*problem)


def assert_convolutional_half(case: Layers, outcome: Outcome) -> None:
    """Assert that up to the first linear layer the layers are those asked for, in their order.

    Raises WrongAnswer with the first that is another one.
    """
    with case_context(case, outcome):
        ran = _layers(outcome, "in_training")
        half = ran[: _first_linear(ran)]
        if problem := difference(half, ASKED[: ASKED.index(LINEAR)]):
            raise WrongAnswer(*problem)


def assert_classifying_half(case: Layers, outcome: Outcome) -> None:
    """Assert that from the first linear layer on they are. Raises WrongAnswer the same way."""
    with case_context(case, outcome):
        ran = _layers(outcome, "in_training")
        first = _first_linear(ran)
        if problem := difference(ran[first:], ASKED[ASKED.index(LINEAR) :], num_before=first):
            raise WrongAnswer(*(_crash(outcome) or problem))


def assert_output_follows(case: Network, outcome: Outcome) -> None:
    """Assert that the layers that are said to have run give the outputs that came back.

    Says nothing about other layers than those asked for. Raises NotProven.
    """
    with case_context(case, outcome):
        if not difference(_layers(outcome, "in_training"), ASKED):
            _assert_output_follows(outcome)


def _first_linear(ran: Sequence[Layer]) -> int:
    return next((i for i, layer in enumerate(ran) if layer.name == LINEAR), len(ran))


def _crash(outcome: Outcome) -> list[Finding]:
    """Return what ended the forward pass, and how far it came; nothing where it did not crash."""
    (crash,) = outcome["crash"]
    if not crash:
        return []
    text = f"The forward pass failed with {crash}."
    told = layers_told(_layers(outcome, "in_training"))
    return [found("network.forward_crashed", text, crash=crash), told]


def _assert_output_follows(outcome: Outcome) -> None:
    """Assert that the layers said to have run give the outputs that came back."""
    # A dropout that never ends is another test's business.
    ran = [each for each in _layers(outcome, "in_evaluation") if each.name != DROPOUT]
    still_drops = len(ran) < len(_layers(outcome, "in_evaluation"))
    (images,) = (given["images"] for given in outcome.inputs)
    (output,), (dropped,) = outcome["output"], outcome["output_in_training"]
    try:
        expected = output_of(images, ran, _parameters(outcome))
    # Shapes come from a rank: what does not fit together can fail anywhere.
    except (NotRecomputable, ArithmeticError, IndexError, MemoryError, *_UNREADABLE) as error:
        text = f"The grader could not recompute the output from the recorded layers: {error}."
        raise NotProven.of("network.not_recomputable", text) from None
    if not still_drops and not (
        output.shape == expected.shape and np.allclose(output, expected, rtol=1e-3, atol=1e-5)
    ):
        text = "The output differs from what the recorded layers and parameters compute."
        raise NotProven.of("network.output_not_of_layers", text)
    # A softmax over one image gives ones whatever is dropped.
    if not (output == 1).all() and np.array_equal(dropped, output):
        text = "The record shows dropout in training, but the output is the same as in evaluation."
        raise NotProven.of("network.dropout_not_in_output", text)


def assert_probabilities(case: Network, outcome: Outcome) -> None:
    """Assert that each image gets the probabilities of ten classes.

    Raises WrongAnswer with the shape, or with a row that does not add up to one.
    """
    with case_context(case, outcome):
        (output,) = outcome["output"]
        expected = (len(outcome.inputs[0]["images"]), NUM_CLASSES)
        if output.shape != expected:
            text = f"The output has shape {output.shape}; expected {expected}."
            helps = "the output must have a row for every image and a column for every class"
            raise WrongAnswer.of("network.output_shape", text, help=helps, shape=output.shape)
        sums = output.sum(axis=1)
        wrong = np.flatnonzero((np.abs(sums - 1) > 1e-5) | (output < 0).any(axis=1))
        if len(wrong):
            row = int(wrong[0])
            text = f"The outputs are not probabilities: row {row} adds up to {sums[row]:.4g}, and "
            text += f"its smallest number is {output[row].min():.4g}."
            helps = "probabilities are not negative and add up to 1; look at the last layer"
            raise WrongAnswer.of("network.not_probabilities", text, help=helps, row=row)


def assert_can_learn(case: Network, outcome: Outcome) -> None:
    """Assert that backward gives the weights of as many layers a gradient as there are to be.

    Raises WrongAnswer with how many get one, or with what backward raised.
    """
    with case_context(case, outcome):
        (slopes,), (no_backward,) = outcome["slopes"], outcome["no_backward"]
        weights = [
            slope
            for slope, parameter in zip(slopes, _parameters(outcome), strict=False)
            if parameter.ndim > 1
        ]
        number = sum(slope > 0 for slope in weights)
        if number < _NUM_WEIGHTED:
            some = f"only {number}" if number else "none"
            text = f"The network cannot be trained: {some} of the {_NUM_WEIGHTED} weight tensors "
            text += f"of its layers {'gets' if number == 1 else 'get'} a gradient in backward"
            text += f" ({no_backward})." if no_backward else "."
            helps = "look for detach(), no_grad(), .data, or a conversion in forward"
            raise WrongAnswer.of("network.no_gradient", text, help=helps, number=number)


def assert_one_row(case: Network, outcome: Outcome) -> None:
    """Assert that a batch of one image gives one row. Raises WrongAnswer with the shape."""
    with case_context(case, outcome):
        (output,) = outcome["output"]
        if len(output) != 1 or output.size < 2:
            shape, expected = output.shape, (1, NUM_CLASSES)
            text = f"For one image, the output has shape {shape}; expected {expected}."
            helps = "look for a line that drops the batch dimension, or merges it with another"
            raise WrongAnswer.of("network.one_image_shape", text, help=helps, shape=shape)


def assert_dropout_only_in_training(case: Network, outcome: Outcome) -> None:
    """Assert that a dropout runs in training, and that after eval() nothing is dropped.

    Raises WrongAnswer when none ran, when one still runs, or when the same images differ.
    """
    with case_context(case, outcome):
        if not any(layer.name == DROPOUT for layer in _layers(outcome, "in_training")):
            raise WrongAnswer.of("network.no_dropout", "Dropout does not run in training.")
        if any(layer.name == DROPOUT for layer in _layers(outcome, "in_evaluation")):
            text = "After eval(), the network still drops activations."
            helps = "nn.Dropout stops after eval(); F.dropout follows its argument `training`"
            raise WrongAnswer.of("network.dropout_after_eval", text, help=helps)
        if not np.array_equal(outcome["output"][0], outcome["output_again"][0]):
            text = "After eval(), the same images give different outputs each time."
            helps = "look for randomness that remains after eval()"
            raise WrongAnswer.of("network.output_varies", text, help=helps)


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
        return layers(
            [
                (
                    str(name),
                    [int(each) for each in shape],
                    {str(key): [int(each) for each in of] for key, of in settings.items()},
                )
                for name, shape, settings in json.loads(outcome[mode][0])
            ]
        )
    except (AttributeError, *_UNREADABLE):
        return []
