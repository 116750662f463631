"""Whether a step with a wider network uses the gradients of all ranks as well, at drawn places."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grader.api import Launch, Outcome, WrongAnswer, case_context

from .train_cases import Training

Vectors = NDArray[np.float64]

_ALIKE = 5e-3
"""Of the length of the mean, as where gradients travel in half the precision."""
_LEAST_SHARE = 0.4


def assert_averaged_when_wide(launch: Launch) -> None:
    """Assert that all ranks step with the mean of all gradients, or a multiple of it.

    launch: of the part's cases on 4 ranks. Not where the run has failed. Raises WrongAnswer.
    """
    for case, outcome, local, used in _steps(launch):
        mean = local.mean(axis=0)
        factors = used @ mean / (mean @ mean or 1.0)
        apart = np.linalg.norm(used - factors[:, np.newaxis] * mean, axis=1)
        wrong = ~(apart <= _ALIKE * np.abs(factors) * np.linalg.norm(mean)) | (factors == 0)
        if wrong.any():
            _raise(case, outcome, int(np.argmax(wrong)))


def assert_part_averaged_when_wide(launch: Launch) -> None:
    """Assert the same of at least 40% of the numbers of one rank. Raises WrongAnswer."""
    for case, outcome, local, used in _steps(launch):
        mean, usual = local.mean(axis=0), np.abs(local).mean(axis=0)
        telling = np.abs(local - mean) > 2 * _ALIKE * usual
        averaged = telling & (np.abs(used - mean) <= _ALIKE * usual)
        shares = averaged.sum(axis=1) / np.maximum(telling.sum(axis=1), 1)
        if telling.any() and shares.max() < _LEAST_SHARE:
            _raise(case, outcome, int(np.argmin(shares)))


def _steps(launch: Launch) -> Iterator[tuple[Training, Outcome, Vectors, Vectors]]:
    for case, answer in launch.having(extent="wide").answers():
        if isinstance(answer, Outcome) and all(map(len, answer["used"])):
            local, used = (
                np.array([each[0] for each in answer[name]], dtype=np.float64)
                for name in ("local", "used")
            )
            yield case, answer, local, used


def _raise(case: Training, outcome: Outcome, rank: int) -> None:
    with case_context(case, outcome):
        channels = outcome.inputs[0]["first_channels"]
        text = f"In a wider network ({channels} channels in its first layer), rank {rank} did not "
        text += "step with the mean of all ranks' gradients."
        helps = "the real network has 64: does your code average gradients of any size?"
        raise WrongAnswer.of("step.not_of_all_when_wide", text, help=helps, rank=rank)
