"""What holds for a training on any number of nodes, whichever way gradients are averaged."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Launch, Outcome, WrongAnswer, assert_every_rank, not_run

from . import gradients, serial
from .batches import is_loss_divided
from .optimizers import seen_instead
from .steps import assert_trained, num_steps, told, wrong_factor
from .train_cases import Training, epoch_of

Check = Callable[[Any, Outcome], None]

_EXACT = 1e-4
"""What was recorded is recognised when it is this close, as part of its length."""

_STEP_TOLERANCE = 1e-6
"""Float32 keeps parameters of about 1 to 6e-8; to forget the weight decay changes them by 1e-5."""


def assert_all_hold(launch: Launch, *checks: Check) -> None:
    """Assert checks of every case of a launch. Raises what they raise."""
    for case, outcome in launch:
        for check in checks:
            check(case, outcome)


def require(launch: Launch, check: Check, reason: str) -> None:
    """End a test as not run where a check holds for no case: another test has said why."""
    if not launch.holding(check):
        not_run(reason)


def assert_holds_as_well(launch: Launch, on_four: Launch, checks: Sequence[Check]) -> None:
    """Assert on the trainings of a launch what holds on 4 ranks: no mistake is charged twice.

    Where the last check, the one that all is for, fails on 4 ranks, all of them have to hold.
    launch, on_four: of the part's cases. Raises what the checks raise, and skips a test whose
    question does not arise.
    """
    here, there = epoch_of(launch), epoch_of(on_four)
    if there.holding(checks[-1]):
        assert_all_hold(here, *(check for check in checks if there.holding(check)))
    elif not all(here.holding(check) for check in checks):
        ranks = "1 rank" if launch.ranks == 1 else f"{launch.ranks} ranks"
        not_run(f"what is wrong on 4 ranks is wrong on {ranks} as well")


def assert_starts_equal(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks hold the same parameters before the first step. Raises WrongAnswer."""
    assert_trained(case, outcome)
    wanted = serial.num_parameters(case.first_channels)
    for rank, start in enumerate(outcome["start"]):
        if len(start) != wanted:
            raise WrongAnswer(
                f"{told(case, outcome)}: rank {rank} trains {len(start)} parameters; VGG11() has "
                f"{wanted} here"
            )
    _assert_equal(case, outcome, "before the first step", outcome["start"])


def assert_replicas_equal(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks hold the same parameters after every step. Raises WrongAnswer."""
    for step in range(num_steps(case, outcome)):
        reached = [each[step] for each in outcome["parameters"]]
        _assert_equal(case, outcome, f"after iteration {step}", reached)


def _assert_equal(
    case: Training, outcome: Outcome, moment: str, vectors: Sequence[NDArray[Any]]
) -> None:
    named = [serial.unpacked(vector, case.first_channels) for vector in vectors]
    for name, first in named[0].items():
        assert_every_rank(
            [arrays[name] for arrays in named],
            first,
            name=name,
            atol=_STEP_TOLERANCE,
            label=f"{told(case, outcome)}, {moment}, expected is what rank 0 holds",
        )


def assert_steps_use_all(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks step with what backward left on all of them, in equal parts.

    Raises WrongAnswer, saying what else it is if that can be recognised.
    """
    for step, rank, used, local in _steps_of_ranks(case, outcome):
        mean = np.mean(local, axis=0)
        if gradients.is_multiple(used, mean, alike=_EXACT):
            continue
        where = f"{told(case, outcome)}: in iteration {step}, rank {rank} steps with"
        instead = gradients.recognised(
            used, local, rank, alike=_EXACT
        ) or gradients.recognised_by_parameter(
            used, local, rank, first_channels=case.first_channels, alike=_EXACT
        )
        if instead:
            raise WrongAnswer(f"{where} {instead}")
        _assert_mean(case, outcome, step)


def assert_steps_with_mean(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks step with the mean of what backward left on each of them.

    Or with the sum, where each has divided its loss before. Raises WrongAnswer.
    """
    scale = 1
    for step, rank, used, local in _steps_of_ranks(case, outcome):
        mean = np.mean(local, axis=0)
        if not gradients.is_multiple(used, mean, alike=_EXACT):
            continue
        factor = gradients.factor_of(used, mean)
        if abs(factor - outcome.ranks) <= _EXACT and is_loss_divided(case, outcome):
            scale = outcome.ranks
        elif abs(factor - 1) > _EXACT:
            raise WrongAnswer(wrong_factor(case, outcome, step, rank, factor))
    for step in range(num_steps(case, outcome)):
        _assert_mean(case, outcome, step, scale=scale)


def _assert_mean(case: Training, outcome: Outcome, step: int, *, scale: int = 1) -> None:
    gradients.assert_mean(
        [used[step] for used in outcome["used"]],
        [local[step] * scale for local in outcome["local"]],
        first_channels=case.first_channels,
        step=step,
        label=told(case, outcome),
    )


def _steps_of_ranks(
    case: Training, outcome: Outcome
) -> Iterator[tuple[int, int, NDArray[Any], list[NDArray[Any]]]]:
    """Yield iteration, rank, the gradient it steps with, and the own gradients of all ranks."""
    for step in range(num_steps(case, outcome)):
        local = [each[step].astype(np.float64) for each in outcome["local"]]
        for rank, used in enumerate(outcome["used"]):
            yield step, rank, used[step].astype(np.float64), local


def assert_sgd_steps(case: Training, outcome: Outcome) -> None:
    """Assert that the parameters change by SGD with the handout's rate, momentum and decay.

    The step is taken from the gradient that the rank stepped with, right or wrong.
    Raises WrongAnswer.
    """
    num_steps(case, outcome)
    seen = list(zip(outcome["start"], outcome["parameters"], outcome["used"], strict=True))
    ends = [serial.ends_of_steps(*each) for each in seen]
    for rank, each in enumerate(seen):
        if not (np.abs(np.array(ends[rank]) - each[1]) <= _STEP_TOLERANCE).all():
            instead = seen_instead(*each, tolerance=_STEP_TOLERANCE)
            break
    else:
        return
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
                f"rate 0.1, momentum 0.9 and weight decay 1e-4{f' ({instead})' if instead else ''}",
            )
