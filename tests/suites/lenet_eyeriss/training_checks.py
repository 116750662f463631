"""What must come of the training on every rank, and what it looks like when it does not."""

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    Finding,
    Outcome,
    WrongAnswer,
    case_context,
    differences_of,
    found,
    reduction_tolerance,
)

from . import serial
from .mistakes import known_mistake
from .training_cases import Training, train_serially

_MOST_RANKS_SHOWN = 4
_EPSILON = float(np.finfo(np.float32).eps)
_SHARE_OF_MOVEMENT = 1e-3
"""Gradients in float32 differ from the oracle's by up to 1e-5 of the largest; mistakes by much more
than a thousandth, for each rank has other examples."""


def assert_trained_as_one(case: Training, outcome: Outcome) -> None:
    """Assert that after every epoch every rank's parameters are those of serial training.

    Raises WrongAnswer: names epoch and parameter, and the mistake where it is a known one.
    """
    with case_context(case, outcome):
        assert_usable(outcome)
        expected = train_serially(outcome)
        start = outcome.inputs[0]["start"].astype(np.float64)
        for epoch in range(case.epochs):
            tolerance = _parameter_tolerance(start, expected[epoch], epoch + 1)
            held = [parameters[epoch] for parameters in outcome["parameters"]]
            wrong = [~(np.abs(each - expected[epoch]) <= tolerance) for each in held]
            differing = [rank for rank, each in enumerate(wrong) if each.any()]
            if differing:
                rank = differing[0]
                index = int(np.argmax(wrong[rank]))
                numbers = found(
                    "training.parameters_differ",
                    f"After epoch {epoch + 1}, {serial.name_at(index)} on rank {rank} is "
                    f"{_moved(held[rank][index], start[index])}; expected "
                    f"{_moved(expected[epoch, index], start[index])}, as on one process with all "
                    f"examples ({_differ_text(int(wrong[rank].sum()), wrong[rank].size)}).",
                    rank=rank,
                    epoch=epoch + 1,
                )
                known, more_calls = known_mistake(outcome, rank), _more_calls(case, outcome, epoch)
                raise WrongAnswer.at(
                    [each for each in (known, numbers, more_calls) if each],
                    [
                        differences_of(
                            each, held[each], expected[epoch], wrong[each], place=serial.name_at
                        )
                        for each in differing[:_MOST_RANKS_SHOWN]
                    ],
                )


def _more_calls(case: Training, outcome: Outcome, epoch: int) -> Finding | None:
    """Return what was called before an epoch, if the one before it was right without that."""
    number = outcome.inputs[0]["num_more_calls"]
    is_first = not epoch and not case.many_calls
    if is_first or epoch < case.epochs - 1 or not number:
        return None
    text = f"In this epoch, the grader called average_gradients {number} times before the call "
    text += "that it checked."
    return found("training.more_calls", text, number=number)


def assert_mean_to_rounding(case: Training, outcome: Outcome) -> None:
    """Assert that gradients after the call are the mean of all ranks' gradients before it.

    That is what rank 0 would compute with all of them: any order of adding may differ by its
    rounding errors only. Raises WrongAnswer.
    """
    with case_context(case, outcome):
        assert_usable(outcome)
        own = np.array(outcome["own"], dtype=np.float64)
        mean = own.mean(axis=0)
        # Two more terms than ranks leave room for the division, by whatever way it is done.
        magnitudes = np.abs(own).mean(axis=0)
        tolerance = reduction_tolerance(outcome.ranks + 2, np.float32, magnitudes)
        for rank, gradients in enumerate(outcome["averaged"]):
            wrong = ~(np.abs(gradients - mean) <= tolerance)
            if wrong.any():
                epoch, index = (int(i) for i in np.argwhere(wrong)[0])
                number = int(wrong[epoch].sum())
                raise WrongAnswer.at(
                    [
                        found(
                            "mean.inexact",
                            f"The mean on rank {rank} is off by more than float32 rounding.",
                            help="which dtype do the gradients have when they are sent and added?",
                            rank=rank,
                        ),
                        found(
                            "mean.inexact_element",
                            f"In epoch {epoch + 1}, the gradient of {serial.name_at(index)} is "
                            f"{gradients[epoch, index]:.8g}; expected {mean[epoch, index]:.8g} "
                            f"({_differ_text(number, mean.shape[1], 'gradients')}).",
                        ),
                    ],
                    [
                        differences_of(
                            rank, gradients[epoch], mean[epoch], wrong[epoch], place=serial.name_at
                        )
                    ],
                )


def assert_replicas_equal(case: Training, outcome: Outcome) -> None:
    """Assert that after every epoch all ranks hold the same parameters, to the last bit.

    Raises WrongAnswer.
    """
    with case_context(case, outcome):
        assert_usable(outcome)
        parameters = outcome["parameters"]
        for epoch in range(case.epochs):
            for rank in range(1, outcome.ranks):
                different = parameters[rank][epoch] != parameters[0][epoch]
                if different.any():
                    index = int(np.argmax(different))
                    raise WrongAnswer(
                        found(
                            "replicas.differ",
                            f"Ranks 0 and {rank} held different parameters after epoch "
                            f"{epoch + 1}.",
                            help="do all ranks add the same values in the same order?",
                            ranks=(0, rank),
                            epoch=epoch + 1,
                        ),
                        found(
                            "replicas.first_difference",
                            f"{serial.name_at(index)} is {parameters[0][epoch, index]!s} on rank 0 "
                            f"and {parameters[rank][epoch, index]!s} on rank {rank} "
                            f"({_differ_text(int(different.sum()), different.size)}).",
                        ),
                    )


def assert_usable(outcome: Outcome) -> None:
    """Raise what the first rank said that could not go on."""
    for rank, problem in enumerate(outcome["problem"]):
        if problem:
            raise WrongAnswer(_unusable(rank, problem))
    epochs = outcome.inputs[0]["epochs"]
    for name in ("own", "averaged", "parameters"):
        for rank, rows in enumerate(outcome[name]):
            if len(rows) != epochs:
                text = f"Rank {rank} finished {len(rows)} of {epochs} epochs."
                facts = {"rank": rank, "number": len(rows), "expected": epochs}
                raise WrongAnswer.of("training.epochs_missing", text, **facts)


def _unusable(rank: int, problem: str) -> Finding:
    """Return what the probe said of the form of the gradients."""
    name = problem.partition(".grad")[0]
    if "shape" in problem:
        return found("gradient.wrong_shape", f"On rank {rank}, {problem}.", rank=rank, name=name)
    text = f"On rank {rank}, {problem.partition(';')[0]}."
    helps = "the mean must be in parameter.grad; the return value is not used"
    return found("gradient.missing", text, help=helps, rank=rank, name=name)


def _parameter_tolerance(
    start: NDArray[np.float64], expected: NDArray[np.float64], num_steps: int
) -> NDArray[np.float64]:
    """Return for each parameter what rounding can do to it in that many steps of float32."""
    tolerance = np.empty_like(start)
    for where in serial.SLICES.values():
        movement = np.abs(expected[where] - start[where]).max()
        stored = num_steps * _EPSILON * np.abs(start[where]).max()
        tolerance[where] = stored + _SHARE_OF_MOVEMENT * movement
    return tolerance


def _moved(parameter: float, start: float) -> str:
    """Return a parameter as start and step: with so small a learning rate only the step tells."""
    step = float(parameter) - float(start)
    return f"{start:.7f} {'-' if step < 0 else '+'} {abs(step):.3e}"


def _differ_text(number: int, num_all: int, what: str = "parameters") -> str:
    """Return `1 of 10 parameters differs`, `3 of 10 parameters differ`."""
    return f"{number} of {num_all} {what} differ{'s' if number == 1 else ''}"
