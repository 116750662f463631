"""What the gradients of a training are, compared with the serial ones of the ranks' batches."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Outcome, WrongAnswer

from . import gradients, serial
from .steps import examples_of, num_steps, told, wrong_factor
from .train_cases import Training

_GRADIENT_TOLERANCE = 0.15
"""One example of 64 that falls on the other side of a ReLU by rounding changes a gradient by up to
some hundredths of its length; a wrong batch, loss or mean changes it by about its length."""


def assert_steps_use_all_batches(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks step with the gradients of all ranks' batches, in equal parts.

    For gradients that are averaged within backward; what is left of an earlier step is not looked
    at here. Raises WrongAnswer.
    """
    for step, rank, used, own in _fresh_steps_of_ranks(case, outcome):
        mean = np.mean(own, axis=0)
        if gradients.is_multiple(used, mean, alike=_GRADIENT_TOLERANCE):
            continue
        where = f"{told(case, outcome)}: in iteration {step}, rank {rank}"
        instead = gradients.recognised(used, own, rank, alike=_GRADIENT_TOLERANCE)
        if instead:
            raise WrongAnswer(f"{where} steps with {instead}")
        _assert_gradient(used, mean, f"{where}: the gradient of the step, the mean over the ranks,")


def assert_steps_with_mean_of_batches(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks step with the mean of the gradients of all ranks' batches.

    Raises WrongAnswer.
    """
    for step, rank, used, own in _fresh_steps_of_ranks(case, outcome):
        mean = np.mean(own, axis=0)
        factor = gradients.factor_of(used, mean)
        is_scaled = gradients.is_multiple(used, mean, alike=_GRADIENT_TOLERANCE)
        if is_scaled and abs(factor - 1) > _GRADIENT_TOLERANCE:
            raise WrongAnswer(wrong_factor(case, outcome, step, rank, factor))
        where = f"{told(case, outcome)}: in iteration {step}, rank {rank}"
        _assert_gradient(used, mean, f"{where}: the gradient of the step, the mean over the ranks,")


def assert_nothing_left(case: Training, outcome: Outcome) -> None:
    """Assert that the gradient of a step has nothing of the step before. Raises WrongAnswer."""
    own = own_gradients(case, outcome)
    for step in range(1, num_steps(case, outcome)):
        mean = np.mean([each[step] for each in own], axis=0)
        for rank, used in enumerate(outcome["used"]):
            if _is_left(used[step], used[step - 1], mean):
                raise WrongAnswer(
                    f"{told(case, outcome)}: in iteration {step}, rank {rank} steps with a "
                    f"gradient that still contains that of iteration {step - 1}: call "
                    "optimizer.zero_grad() before backward"
                )


def _is_left(found: NDArray[Any], before: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Return whether what was found is what is wanted only without the gradient before."""
    return gradients.is_like(
        found - before, wanted, alike=_GRADIENT_TOLERANCE
    ) and not gradients.is_like(found, wanted, alike=_GRADIENT_TOLERANCE)


def _fresh_steps_of_ranks(
    case: Training, outcome: Outcome
) -> Iterator[tuple[int, int, NDArray[Any], list[NDArray[Any]]]]:
    """Yield iteration, rank, the gradient it steps with, and the gradients of all ranks' batches.

    Without what an earlier step has left, where that is seen.
    """
    own = own_gradients(case, outcome)
    for step in range(num_steps(case, outcome)):
        of_batches = [each[step] for each in own]
        for rank, used in enumerate(outcome["used"]):
            found = used[step].astype(np.float64)
            if step and _is_left(found, used[step - 1], np.mean(of_batches, axis=0)):
                found = found - used[step - 1]
            yield step, rank, found, of_batches


def assert_own_gradients(case: Training, outcome: Outcome) -> None:
    """Assert that backward leaves, on every rank, the gradient of its own batch.

    Raises WrongAnswer, saying what else it is if that can be recognised.
    """
    own = own_gradients(case, outcome)
    if is_loss_divided(case, outcome):
        return
    for step in range(num_steps(case, outcome)):
        for rank in range(outcome.ranks):
            _assert_gradient(
                outcome["local"][rank][step],
                own[rank][step],
                f"{told(case, outcome)}: in iteration {step}, rank {rank}: what backward leaves, "
                "the gradient of the rank's own batch,",
                hint=_hint(outcome, rank, step, own[rank][step]),
            )


def is_loss_divided(case: Training, outcome: Outcome) -> bool:
    """Return whether each rank divides its loss by the number of ranks, and all sum the gradients.

    That is the mean as well. Raises WrongAnswer where the batches are unknown.
    """
    own = own_gradients(case, outcome)
    return outcome.ranks > 1 and all(
        gradients.is_like(
            outcome["local"][rank][step] * outcome.ranks,
            own[rank][step],
            alike=_GRADIENT_TOLERANCE,
        )
        and gradients.is_like(
            outcome["used"][rank][step],
            np.mean([each[step] for each in own], axis=0),
            alike=_GRADIENT_TOLERANCE,
        )
        for rank in range(outcome.ranks)
        for step in range(num_steps(case, outcome))
    )


def _hint(outcome: Outcome, rank: int, step: int, wanted: NDArray[Any]) -> str:
    """Return what may be the reason that backward leaves another gradient, for a message."""
    found = outcome["local"][rank][step]
    if outcome["through_ddp"][rank][step]:
        return "; DistributedDataParallel has averaged it within backward"
    if not outcome["in_training"][rank][step]:
        return "; the network is in evaluation mode: call model.train() before the training"
    before = outcome["used"][rank][step - 1] if step else None
    if before is not None and _is_left(found, before, wanted):
        return (
            "; it still contains the gradient of the iteration before: call optimizer.zero_grad() "
            "before backward"
        )
    if gradients.is_multiple(found, wanted, alike=_GRADIENT_TOLERANCE):
        factor = gradients.factor_of(found, wanted)
        return f"; it is {factor:.3g} times that: is the loss the mean over the rank's batch?"
    return "; is the loss CrossEntropyLoss of the network's scores and the labels of this batch?"


def _assert_gradient(
    found: NDArray[Any], wanted: NDArray[Any], what: str, *, hint: str = ""
) -> None:
    """Assert that a whole gradient is the serial one, up to rounding.

    Single elements are not compared: rounding may decide a ReLU or a maximum otherwise, which
    changes a few of them visibly. Raises WrongAnswer.
    """
    if gradients.is_like(found, wanted, alike=_GRADIENT_TOLERANCE):
        return
    length = float(np.linalg.norm(wanted))
    times = float(np.linalg.norm(found - wanted)) / length if length else np.inf
    raise WrongAnswer(
        f"{what} differs from the serial one by {times:.3g} times its length "
        f"(lengths {np.linalg.norm(found):.6g} and {length:.6g}){hint}"
    )


@dataclass(frozen=True)
class _SameOutcome:
    """An outcome by its identity, to remember what was computed for it."""

    identity: int
    case: Training = field(compare=False)
    outcome: Outcome = field(compare=False)


def own_gradients(case: Training, outcome: Outcome) -> list[list[NDArray[Any]]]:
    """Return the serial gradients of the ranks' own batches by rank and iteration, packed.

    Each from where its rank stood. Raises WrongAnswer where batches or examples are unknown.
    """
    num_steps(case, outcome)
    examples_of(case, outcome)
    return _own_gradients(_SameOutcome(id(outcome), case, outcome))


@lru_cache(maxsize=8)
def _own_gradients(of: _SameOutcome) -> list[list[NDArray[Any]]]:
    found = []
    for rank in range(of.outcome.ranks):
        starts = [of.outcome["start"][rank], *of.outcome["parameters"][rank][:-1]]
        ends = np.cumsum(of.outcome["batch_sizes"][rank])
        labels = of.outcome.inputs[rank]["train_labels"][of.outcome["examples"][rank]]
        images = of.outcome["images"][rank]
        batches = zip(np.split(images, ends[:-1]), np.split(labels, ends[:-1]), strict=True)
        found.append(
            [
                serial.gradient(start.astype(np.float64), *batch, of.case.first_channels)
                for start, batch in zip(starts, batches, strict=True)
            ]
        )
    return found
