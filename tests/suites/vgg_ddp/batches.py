"""What the gradients of a training are, compared with the serial ones of the ranks' batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Finding, Outcome, WrongAnswer, found

from . import gradients, serial
from .steps import examples_of, num_steps, wrong_factor
from .train_cases import Printing, Training

GRADIENT_TOLERANCE = 0.15
"""One example of 64 that falls on the other side of a ReLU by rounding changes a gradient by up to
some hundredths of its length; a wrong batch, loss or mean changes it by about its length."""

_LOSS_TOLERANCE = 0.02
"""Of the gradient of the last layer, to which no ReLU and no maximum comes: float32 changes it by a
millionth, bfloat16 by a hundredth, and label smoothing of 0.1 by four hundredths and more."""
_LEAST_LOSS_NORM = 0.05
"""Of that gradient; where it nearly vanishes, rounding is a larger part of it."""


def assert_steps_use_all_batches(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks step with the gradients of all ranks' batches, in equal parts.

    For gradients that are averaged within backward; what is left of an earlier step is not looked
    at here. Raises WrongAnswer.
    """
    for step, rank, used, own in _fresh_steps_of_ranks(case, outcome):
        mean = np.mean(own, axis=0)
        if gradients.is_multiple(used, mean, alike=GRADIENT_TOLERANCE):
            continue
        instead = gradients.recognised(used, own, rank, step, alike=GRADIENT_TOLERANCE)
        if instead:
            raise WrongAnswer(instead)
        _assert_gradient(used, mean, partial(_not_of_all_batches, step, rank))


def assert_steps_with_mean_of_batches(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks step with the mean of the gradients of all ranks' batches.

    Raises WrongAnswer.
    """
    for step, rank, used, own in _fresh_steps_of_ranks(case, outcome):
        mean = np.mean(own, axis=0)
        factor = gradients.factor_of(used, mean)
        is_scaled = gradients.is_multiple(used, mean, alike=GRADIENT_TOLERANCE)
        if is_scaled and abs(factor - 1) > GRADIENT_TOLERANCE:
            raise WrongAnswer(wrong_factor(outcome, step, rank, factor))
        _assert_gradient(used, mean, partial(_not_of_all_batches, step, rank))
        _assert_loss(case, used, mean, rank, step)


def _not_of_all_batches(step: int, rank: int) -> Finding:
    text = f"In iteration {step}, rank {rank} did not use the mean of all ranks' gradients."
    return found("step.not_of_all_batches", text, rank=rank, iteration=step)


def has_other_loss(case: Training, outcome: Outcome) -> bool:
    """Return whether the steps are right but for a loss that is nearly the one asked for."""
    try:
        assert_steps_with_mean_of_batches(case, outcome)
    except WrongAnswer as error:
        return any(each.key == "gradient.other_loss" for each in error.findings)
    return False


def assert_nothing_left(case: Training, outcome: Outcome) -> None:
    """Assert that the gradient of a step has nothing of the step before. Raises WrongAnswer."""
    own = own_gradients(case, outcome)
    for step in range(1, num_steps(case, outcome)):
        mean = np.mean([each[step] for each in own], axis=0)
        for rank, used in enumerate(outcome["used"]):
            if _is_left(used[step], used[step - 1], mean):
                raise WrongAnswer(_not_zeroed(step, rank))


def _not_zeroed(step: int, rank: int) -> Finding:
    gradient = f"rank {rank}'s gradient still contained the gradient of iteration {step - 1}"
    text, helps = (
        f"In iteration {step}, {gradient}.",
        "look at where optimizer.zero_grad() is called",
    )
    return found("gradient.not_zeroed", text, help=helps, rank=rank, iteration=step)


def _is_left(got: NDArray[Any], before: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Return whether what there is becomes what is wanted only without the gradient before."""
    return gradients.is_like(
        got - before, wanted, alike=GRADIENT_TOLERANCE
    ) and not gradients.is_like(got, wanted, alike=GRADIENT_TOLERANCE)


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
            fresh = used[step].astype(np.float64)
            if step and _is_left(fresh, used[step - 1], np.mean(of_batches, axis=0)):
                fresh = fresh - used[step - 1]
            yield step, rank, fresh, of_batches


def assert_own_gradients(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that backward leaves, on every rank, the gradient of its own batch.

    Raises WrongAnswer, with the reason if that can be recognised.
    """
    own = own_gradients(case, outcome)
    times = outcome.ranks if is_loss_divided(case, outcome) else 1
    for step in range(num_steps(case, outcome)):
        of_batches = [each[step] for each in own]
        for rank, wanted in enumerate(of_batches):
            got = outcome["local"][rank][step] * times
            if times == 1:
                _assert_gradient(got, wanted, partial(_reason, outcome, step, rank, of_batches))
            _assert_loss(case, got, wanted, rank, step)


def _assert_loss(
    case: Training | Printing, got: NDArray[Any], wanted: NDArray[Any], rank: int, step: int
) -> None:
    """Assert that the gradient of the last layer is that of CrossEntropyLoss().

    A loss that is nearly the same, such as a smoothed one, shows there only. Raises WrongAnswer.
    """
    last = [serial.unpacked(each, case.first_channels) for each in (got, wanted)]
    classifiers = [
        np.concatenate([array.ravel() for name, array in each.items() if "classifier" in name])
        for each in last
    ]
    apart = float(np.linalg.norm(classifiers[0] - classifiers[1]))
    norm = max(float(np.linalg.norm(classifiers[1])), _LEAST_LOSS_NORM)
    if not apart <= _LOSS_TOLERANCE * norm:
        text = f"In iteration {step}, rank {rank}'s gradient of the last layer was not that of "
        text += f"CrossEntropyLoss(): it differs by {apart / norm:.1%}."
        helps = "which options does the loss have, and what is added to it?"
        raise WrongAnswer.of("gradient.other_loss", text, help=helps, rank=rank, iteration=step)


def assert_in_training_mode(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that the network is in training mode in each step. Raises WrongAnswer."""
    for step in range(num_steps(case, outcome)):
        for rank, in_training in enumerate(outcome["in_training"]):
            if not in_training[step]:
                raise WrongAnswer(_in_evaluation_mode(step, rank))


def _in_evaluation_mode(step: int, rank: int) -> Finding:
    text = f"In iteration {step}, rank {rank}'s network was in evaluation mode."
    helps = "look at where model.train() and model.eval() are called"
    return found("gradient.in_evaluation_mode", text, help=helps, rank=rank, iteration=step)


def is_loss_divided(case: Training | Printing, outcome: Outcome) -> bool:
    """Return whether each rank divides its loss by the number of ranks, and all sum the gradients.

    That is the mean as well. Raises WrongAnswer where the batches are unknown.
    """
    own = own_gradients(case, outcome)
    return outcome.ranks > 1 and all(
        gradients.is_like(
            outcome["local"][rank][step] * outcome.ranks,
            own[rank][step],
            alike=GRADIENT_TOLERANCE,
        )
        and gradients.is_like(
            outcome["used"][rank][step],
            np.mean([each[step] for each in own], axis=0),
            alike=GRADIENT_TOLERANCE,
        )
        for rank in range(outcome.ranks)
        for step in range(num_steps(case, outcome))
    )


def _reason(outcome: Outcome, step: int, rank: int, of_batches: Sequence[NDArray[Any]]) -> Finding:
    """Return why backward may leave another gradient than that of the rank's own batch."""
    local, wanted = outcome["local"][rank][step], of_batches[rank]
    when = f"In iteration {step}"
    facts: dict[str, Any] = {"rank": rank, "iteration": step}
    through_ddp = bool(outcome["through_ddp"][rank][step])
    mean = np.mean(of_batches, axis=0)
    if through_ddp or gradients.is_like(local, mean, alike=GRADIENT_TOLERANCE):
        text = f"{when}, rank {rank}'s gradients were averaged during backward."
        if through_ddp:
            text = f"{when}, DistributedDataParallel averaged rank {rank}'s gradients in backward."
        helps = "in this part, they must be averaged after backward"
        return found("gradient.averaged_in_backward", text, help=helps, **facts)
    if not outcome["in_training"][rank][step]:
        return _in_evaluation_mode(step, rank)
    if step and _is_left(local, outcome["used"][rank][step - 1], wanted):
        return _not_zeroed(step, rank)
    if gradients.is_multiple(local, wanted, alike=GRADIENT_TOLERANCE):
        factor = float(f"{gradients.factor_of(local, wanted):.3g}")
        text = f"{when}, backward computed {factor:g} times the gradient of rank {rank}'s batch."
        helps = "is the loss the mean over the rank's batch?"
        return found("gradient.scaled", text, help=helps, factor=factor, **facts)
    text = f"{when}, backward did not leave the gradient of rank {rank}'s own batch in .grad."
    helps = "is the loss CrossEntropyLoss of the network's scores and the labels of this batch?"
    return found("gradient.not_of_the_batch", text, help=helps, **facts)


def _assert_gradient(
    got: NDArray[Any], wanted: NDArray[Any], reason: Callable[[], Finding]
) -> None:
    """Assert that a whole gradient is the serial one, up to rounding.

    Single elements are not compared: rounding may decide a ReLU or a maximum otherwise, which
    changes a few of them visibly. Raises WrongAnswer.
    """
    if gradients.is_like(got, wanted, alike=GRADIENT_TOLERANCE):
        return
    norm, apart = np.linalg.norm(wanted), np.linalg.norm(got - wanted)
    text = f"The gradient has norm {np.linalg.norm(got):.6g}; the correct one has {norm:.6g}. "
    if norm:
        text += f"The norm of their difference is {apart / norm:.3g} times the correct norm."
    raise WrongAnswer(reason(), found("gradient.differs", text.strip()))


@dataclass(frozen=True)
class _SameOutcome:
    """An outcome by its identity, to remember what was computed for it."""

    identity: int
    case: Training | Printing = field(compare=False)
    outcome: Outcome = field(compare=False)


def own_gradients(case: Training | Printing, outcome: Outcome) -> list[list[NDArray[Any]]]:
    """Return the serial gradients of the ranks' own batches by rank and iteration, packed.

    Each from where its rank stood. Raises WrongAnswer where batches or examples are unknown.
    """
    num_steps(case, outcome)
    examples_of(case, outcome)
    return _own_gradients(_SameOutcome(id(outcome), case, outcome))


@lru_cache(maxsize=8)
def _own_gradients(of: _SameOutcome) -> list[list[NDArray[Any]]]:
    by_rank = []
    for rank in range(of.outcome.ranks):
        starts = [of.outcome["start"][rank], *of.outcome["parameters"][rank][:-1]]
        ends = np.cumsum(of.outcome["batch_sizes"][rank])
        given = of.outcome.inputs[rank]["train_labels"]  # a long training repeats them
        labels = given[of.outcome["examples"][rank] % len(given)]
        images = of.outcome["images"][rank]
        batches = zip(np.split(images, ends[:-1]), np.split(labels, ends[:-1]), strict=True)
        by_rank.append(
            [
                serial.gradient(start.astype(np.float64), *batch, of.case.first_channels)
                for start, batch in zip(starts, batches, strict=True)
            ]
        )
    return by_rank
