"""What must come of the training on every rank, and what it looks like when it does not."""

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    Outcome,
    WrongAnswer,
    case_context,
    differences_of,
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
                raise WrongAnswer.at(
                    f"rank {rank}: after epoch {epoch + 1} {serial.name_at(index)} is "
                    f"{_moved(held[rank][index], start[index])}, expected "
                    f"{_moved(expected[epoch, index], start[index])} as in one process with "
                    f"all examples ({int(wrong[rank].sum())} of {wrong[rank].size} parameters "
                    f"differ){known_mistake(outcome, rank)}",
                    tuple(
                        differences_of(
                            each, held[each], expected[epoch], wrong[each], place=serial.name_at
                        )
                        for each in differing[:_MOST_RANKS_SHOWN]
                    ),
                )


def assert_mean_to_rounding(case: Training, outcome: Outcome) -> None:
    """Assert that gradients after the call are the mean of all ranks' gradients before it.

    That is what process 0 would compute with all of them: any order of adding may differ by its
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
                raise WrongAnswer.at(
                    f"rank {rank}: in epoch {epoch + 1} the gradient of {serial.name_at(index)} "
                    f"becomes {gradients[epoch, index]:.8g}, expected {mean[epoch, index]:.8g}, "
                    f"the mean over the ranks ({int(wrong[epoch].sum())} of {mean.shape[1]} "
                    "gradients are farther from it than rounding in float32 explains)",
                    (
                        differences_of(
                            rank, gradients[epoch], mean[epoch], wrong[epoch], place=serial.name_at
                        ),
                    ),
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
                        f"after epoch {epoch + 1} {serial.name_at(index)} is "
                        f"{parameters[0][epoch, index]!s} on rank 0 and "
                        f"{parameters[rank][epoch, index]!s} on rank {rank} "
                        f"({int(different.sum())} of {different.size} parameters differ); all "
                        "ranks need the very same sum, added in one order, or their models drift "
                        "apart"
                    )


def assert_usable(outcome: Outcome) -> None:
    """Raise what the first rank said that could not go on."""
    for rank, problem in enumerate(outcome["problem"]):
        if problem:
            raise WrongAnswer(f"rank {rank}: {problem}")
    epochs = outcome.inputs[0]["epochs"]
    for name in ("own", "averaged", "parameters"):
        for rank, rows in enumerate(outcome[name]):
            if len(rows) != epochs:
                raise WrongAnswer(f"rank {rank} went through {len(rows)} epochs, expected {epochs}")


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
