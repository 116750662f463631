"""What holds for a training on any number of nodes, whichever way gradients are averaged."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.judge.findings import WrongAnswer
from grader.judge.values import assert_every_rank
from grader.model import Outcome

from . import gradients, layers, serial
from .rules import assert_not_through_ddp
from .steps import num_steps, told
from .train_cases import Training

_GRADIENT_TOLERANCE = 0.15
"""One example of 64 that falls on the other side of a ReLU by rounding changes a gradient by up to
some hundredths of its length; a wrong batch, loss or mean changes it by about its length."""

_STEP_TOLERANCE = 1e-6
"""Float32 keeps parameters of about 1 to 6e-8; to forget the weight decay changes them by 1e-5."""


def assert_steps_with_mean(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks step with the mean of what backward left on each of them.

    Raises WrongAnswer.
    """
    for step in range(num_steps(case, outcome)):
        gradients.assert_mean(
            [used[step] for used in outcome["used"]],
            [local[step] for local in outcome["local"]],
            first_channels=case.first_channels,
            step=step,
            label=told(case, outcome),
        )


def assert_steps_with_serial_mean(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks step with the mean of the gradients of all ranks' batches.

    For gradients that are averaged within backward. Raises WrongAnswer.
    """
    for step in range(num_steps(case, outcome)):
        own = [_serial_gradient(case, outcome, rank, step) for rank in range(outcome.ranks)]
        mean = np.mean(own, axis=0)
        for rank, used in enumerate(outcome["used"]):
            where = f"{told(case, outcome)}: in iteration {step}, rank {rank}"
            try:
                gradients.assert_gradient_of_batch(
                    used[step],
                    mean,
                    tolerance=_GRADIENT_TOLERANCE,
                    what=f"{where}: the gradient of the step, the mean over the ranks' batches,",
                )
            except WrongAnswer:
                known = gradients.recognised(used[step], own, mean, rank, alike=_GRADIENT_TOLERANCE)
                if not known:
                    raise
                raise WrongAnswer(f"{where} steps with {known}") from None


def assert_own_gradients(case: Training, outcome: Outcome) -> None:
    """Assert that backward leaves, on every rank, the gradient of its own batch.

    Raises WrongAnswer, and RuleViolation when DistributedDataParallel has averaged it already.
    """
    assert_not_through_ddp(case, outcome)
    for step in range(num_steps(case, outcome)):
        for rank in range(outcome.ranks):
            gradients.assert_gradient_of_batch(
                outcome["local"][rank][step],
                _serial_gradient(case, outcome, rank, step),
                tolerance=_GRADIENT_TOLERANCE,
                what=f"{told(case, outcome)}: in iteration {step}, rank {rank}: what backward "
                "leaves, the gradient of the rank's own batch,",
                hint="; were the gradients zeroed before, is the model in training mode, is the "
                "loss the mean over the batch?",
            )


def assert_sgd_steps(case: Training, outcome: Outcome) -> None:
    """Assert that the parameters change by SGD with the handout's rate, momentum and decay.

    The step is taken from the gradient that the rank stepped with, right or wrong.
    Raises WrongAnswer.
    """
    num_steps(case, outcome)
    ends = _ends_of_sgd(outcome)
    if _are_reached(ends, outcome):
        return
    instead = _seen_instead(outcome)
    for step in range(len(ends[0])):
        found = [serial.unpacked(each[step], case.first_channels) for each in outcome["parameters"]]
        expected = [serial.unpacked(each[step], case.first_channels) for each in ends]
        for name in found[0]:
            assert_every_rank(
                [arrays[name] for arrays in found],
                [arrays[name] for arrays in expected],
                name=name,
                atol=_STEP_TOLERANCE,
                label=f"{told(case, outcome)}, after iteration {step}, a step of SGD with learning "
                f"rate 0.1, momentum 0.9 and weight decay 1e-4{instead}",
            )


def _ends_of_sgd(outcome: Outcome, **options: float) -> list[list[NDArray[Any]]]:
    """Return for each rank where its steps end, were they SGD with these options."""
    seen = zip(outcome["start"], outcome["parameters"], outcome["used"], strict=True)
    return [serial.sgd(*each, **options) for each in seen]


def _are_reached(ends: list[list[NDArray[Any]]], outcome: Outcome) -> bool:
    """Return whether all steps of all ranks end there, up to rounding."""
    apart = np.abs(np.array(ends) - np.array(outcome["parameters"]))
    return bool((apart <= _STEP_TOLERANCE).all())


def _seen_instead(outcome: Outcome) -> str:
    """Return which usual slip explains steps that are not those asked for, or nothing."""
    slips = {
        "weight decay": {"weight_decay": 0.0},
        "momentum": {"momentum": 0.0},
        "momentum and weight decay": {"momentum": 0.0, "weight_decay": 0.0},
    }
    for missing, options in slips.items():
        if _are_reached(_ends_of_sgd(outcome, **options), outcome):
            return f" (these are steps without {missing})"
    return ""


def assert_replicas_equal(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks hold the same parameters before the training and after every step.

    Raises WrongAnswer.
    """
    moments = [("before the first iteration", outcome["start"])] + [
        (f"after iteration {step}", [each[step] for each in outcome["parameters"]])
        for step in range(num_steps(case, outcome))
    ]
    for moment, vectors in moments:
        named = [serial.unpacked(vector, case.first_channels) for vector in vectors]
        for name, first in named[0].items():
            assert_every_rank(
                [arrays[name] for arrays in named],
                first,
                name=name,
                atol=_STEP_TOLERANCE,
                label=f"{told(case, outcome)}, {moment}, expected is what rank 0 holds",
            )


def _serial_gradient(case: Training, outcome: Outcome, rank: int, step: int) -> NDArray[Any]:
    """Return the gradient of a rank's batch from where the rank stood, packed."""
    before = outcome["parameters"][rank][step - 1] if step else outcome["start"][rank]
    ends = np.cumsum(outcome["batch_sizes"][rank])
    batch = slice(ends[step] - outcome["batch_sizes"][rank][step], ends[step])
    labels = outcome["labels"][rank][batch]
    if labels.min() < 0 or labels.max() >= layers.NUM_CLASSES:
        raise WrongAnswer(
            f"{told(case, outcome)}: in iteration {step}, rank {rank} has no cross entropy of its "
            "batch: the loss of this training is torch.nn.CrossEntropyLoss"
        )
    named = serial.unpacked(before.astype(np.float64), case.first_channels)
    _, gradient = layers.loss_and_gradient(named, outcome["images"][rank][batch], labels)
    return serial.packed(gradient, case.first_channels)
