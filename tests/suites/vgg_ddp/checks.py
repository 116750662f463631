"""What holds for a training on any number of nodes, whichever way gradients are averaged."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    Finding,
    Launch,
    Outcome,
    WrongAnswer,
    assert_every_rank,
    assert_time_ratio,
    case_context,
    found,
    not_run,
    same_failures_as,
)

from . import gradients, serial
from .batches import assert_steps_with_mean_of_batches, is_loss_divided
from .examples import assert_shared_out
from .optimizers import seen_instead
from .steps import assert_network, assert_trained, explained, num_steps, wrong_factor
from .train_cases import Printing, Training, epoch_of, timing_cases

Check = Callable[[Any, Outcome], None]
Run = Callable[[int, tuple[Training, ...]], Launch]

_EXACT = 1e-4
"""What was recorded is recognised when it is this close, as part of its length."""
_ROUNDED = 5e-3
"""The same of what has travelled in half the precision."""

_STEP_TOLERANCE = 1e-6
"""Float32 keeps parameters of about 1 to 6e-8; to forget the weight decay changes them by 1e-5."""

_YARDSTICKS = {
    "nothing": "does the same",
    "all_reduce": "averages with all_reduce",
    "gather_scatter": "averages with gather and scatter",
    "ddp": "averages with DistributedDataParallel",
}


def naming_case(check: Check) -> Check:
    """Return the check with number of ranks and case before what it raises."""

    def named(case: Any, outcome: Outcome) -> None:
        with case_context(case, outcome):
            check(case, outcome)

    return named


def assert_all_hold(launch: Launch, *checks: Check) -> None:
    """Assert checks of every case of a launch. Raises what they raise."""
    for case, outcome in launch:
        for check in checks:
            naming_case(check)(case, outcome)


def require(launch: Launch, check: Check, reason: str) -> None:
    """End a test as not run where a check holds for no case: another test has said why."""
    if not launch.holding(check):
        not_run(reason)


def assert_holds_as_well(launch: Launch, on_four: Launch, checks: Sequence[Check]) -> None:
    """Assert on the trainings of a launch what holds on 4 ranks: no mistake is charged twice.

    launch, on_four: of the part's cases. Raises what the checks raise.
    """
    there = epoch_of(on_four)
    assert_all_hold(epoch_of(launch), *(check for check in checks if there.holding(check)))


def assert_holds_where_trained(launch: Launch, check: Check) -> None:
    """Assert a check of every case with a training; not run where there is none.

    Raises what it raises.
    """
    require(launch, assert_trained, "the grader saw no training")
    for case, outcome in launch.holding(assert_trained):
        naming_case(check)(case, outcome)


def assert_takes_time_of_training(run: Run, ranks: int, cases: tuple[Training, ...]) -> None:
    """Assert that a program takes at most 6 times as long as a plain loop that does the same.

    cases: they end with a first measurement. Raises BudgetExceeded, and WrongAnswer where the
    training is right unless it is timed.
    """
    launch, timed = run(ranks, cases), cases[-1]
    require(epoch_of(launch), assert_trained, "the grader saw no training")
    checks = (assert_shared_out, assert_steps_with_mean_of_batches, assert_sgd_steps)
    assert_time_ratio(
        lambda attempt: (
            run(ranks, timing_cases(timed.file, timed.how, attempt)) if attempt else launch
        ),
        check=same_failures_as(launch, *map(naming_case, checks)),
        factor=6,
        what=f"the program{'' if ranks == 1 else f' on {ranks} ranks'} (2 iterations)",
        yardstick=f"a plain loop that {_YARDSTICKS[timed.how]}",
    )


def assert_starts_equal(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks hold the same parameters before the first step. Raises WrongAnswer."""
    assert_trained(case, outcome)
    assert_network(case, outcome)
    _assert_equal(case, outcome["start"], _differ_at_start)


def _differ_at_start(rank: int) -> Finding:
    text = f"Rank {rank} did not start with rank 0's parameters."
    helps = "compare how both ranks initialise their parameters, for example their seeds"
    return found("replicas.differ_at_start", text, help=helps, rank=rank)


def assert_replicas_equal(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks hold the same parameters after every step. Raises WrongAnswer."""
    for step in range(num_steps(case, outcome)):
        reached = [each[step] for each in outcome["parameters"]]
        _assert_equal(case, reached, partial(_differ_after, step))


def _differ_after(step: int, rank: int) -> Finding:
    text = f"After iteration {step}, rank {rank}'s parameters differed from rank 0's."
    helps = "compare the gradients that both ranks use in their steps"
    return found("replicas.differ_after_step", text, help=helps, rank=rank, iteration=step)


def _assert_equal(
    case: Training, vectors: Sequence[NDArray[Any]], reason: Callable[[int], Finding]
) -> None:
    """Assert that all ranks hold what rank 0 holds. Raises WrongAnswer."""
    named = [serial.unpacked(vector, case.first_channels) for vector in vectors]
    with explained(reason):
        for name, first in named[0].items():
            arrays = [each[name] for each in named]
            assert_every_rank(arrays, first, name=name, atol=_STEP_TOLERANCE)


def assert_steps_use_all(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that all ranks step with what backward left on all of them, in equal parts.

    Raises WrongAnswer, saying what else it is if that can be recognised.
    """
    for step, rank, used, local in steps_of_ranks(case, outcome):
        mean = np.mean(local, axis=0)
        if gradients.is_multiple(used, mean, alike=_ROUNDED):
            continue
        instead = gradients.recognised(
            used, local, rank, step, alike=_EXACT
        ) or gradients.recognised_by_parameter(
            used, local, rank, step, first_channels=case.first_channels, alike=_EXACT
        )
        if instead:
            raise WrongAnswer(instead)
        _assert_mean(case, outcome, step)


def assert_steps_with_mean(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks step with the mean of what backward left on each of them.

    Or with the sum, where each has divided its loss before. Raises WrongAnswer.
    """
    scale = 1
    for step, rank, used, local in steps_of_ranks(case, outcome):
        mean = np.mean(local, axis=0)
        if not gradients.is_multiple(used, mean, alike=_EXACT):
            continue
        factor = gradients.factor_of(used, mean)
        if abs(factor - outcome.ranks) <= _EXACT and is_loss_divided(case, outcome):
            scale = outcome.ranks
        elif abs(factor - 1) > _EXACT:
            raise WrongAnswer(wrong_factor(outcome, step, rank, factor))
    for step in range(num_steps(case, outcome)):
        _assert_mean(case, outcome, step, scale=scale)


def _assert_mean(case: Training | Printing, outcome: Outcome, step: int, *, scale: int = 1) -> None:
    gradients.assert_mean(
        [used[step] for used in outcome["used"]],
        [local[step] * scale for local in outcome["local"]],
        first_channels=case.first_channels,
        step=step,
    )


def steps_of_ranks(
    case: Training | Printing, outcome: Outcome
) -> Iterator[tuple[int, int, NDArray[Any], list[NDArray[Any]]]]:
    """Yield iteration, rank, the gradient it steps with, and the own gradients of all ranks."""
    for step in range(num_steps(case, outcome)):
        local = [each[step].astype(np.float64) for each in outcome["local"]]
        for rank, used in enumerate(outcome["used"]):
            yield step, rank, used[step].astype(np.float64), local


def assert_sgd_steps(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that the parameters change by SGD with the handout's rate, momentum and decay.

    The step is taken from the gradient that the rank stepped with, right or wrong. Of later steps,
    the first one tells the momentum. Raises WrongAnswer.
    """
    num_steps(case, outcome)
    is_late = case.extent == "late"
    seen = list(zip(outcome["start"], outcome["parameters"], outcome["used"], strict=True))
    ends = [serial.ends_of_steps(*each, is_late=is_late) for each in seen]
    tolerances = [_step_tolerances(*each) for each in seen]
    for rank, each in enumerate(seen):
        tolerance = tolerances[rank][:, np.newaxis]
        if not (np.abs(np.array(ends[rank]) - each[1]) <= tolerance).all():
            instead = seen_instead(rank, *each, tolerance=tolerance, is_late=is_late)
            break
    else:
        return
    with explained(lambda _: instead):
        for step in range(len(ends[0])):
            got = [serial.unpacked(each[1][step], case.first_channels) for each in seen]
            expected = [serial.unpacked(each[step], case.first_channels) for each in ends]
            for name in got[0]:
                assert_every_rank(
                    [arrays[name] for arrays in got],
                    [arrays[name] for arrays in expected],
                    name=name,
                    atol=max(each[step] for each in tolerances),
                    label=f"after iteration {step}",
                )


def _step_tolerances(
    start: NDArray[Any], reached: NDArray[Any], gradients: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the tolerance of each step: it grows with the greatest number that was rounded."""
    greatest = [float(np.abs(start).max())]
    for parameters, of_step in zip(reached, gradients, strict=True):
        moved = serial.OPTIMIZER.learning_rate * np.abs(of_step).max()
        greatest.append(max(greatest[-1], float(np.abs(parameters).max()), float(moved)))
    return _STEP_TOLERANCE * np.maximum(1.0, np.array(greatest[1:]))
