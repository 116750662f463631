"""Whether steps use the mean over all ranks for a part of the numbers, where they lack the rest."""

from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Outcome, WrongAnswer

from . import serial
from .batches import assert_own_gradients
from .checks import (
    Check,
    Run,
    assert_all_hold,
    assert_sgd_steps,
    assert_starts_equal,
    steps_of_ranks,
)
from .examples import assert_batch_sizes, assert_shared_out
from .later import assert_holds_later
from .proof import assert_steps_come_from_payloads
from .train_cases import Training, epoch_of
from .wide import assert_part_averaged_when_wide

_RANKS = 4
_LEAST_SHARE = 0.4
"""Of the numbers: half of each parameter may be a little less than half of all."""
_ALIKE = 1e-3
"""Of a number's usual size among the ranks; half precision rounds to less."""


def assert_partly_averaged(run: Run, cases: tuple[Training, ...], averaged: Check) -> None:
    """Assert that all is right but for some numbers of the gradients, which are not averaged.

    cases: of the part, on 4 ranks. averaged: how much has to be.
    Raises WrongAnswer, RuleViolation, NotProven, and RunFailed.
    """
    launch = run(_RANKS, cases)
    setup = (assert_starts_equal, assert_shared_out, assert_batch_sizes, assert_own_gradients)
    steps = (assert_sgd_steps, averaged, _assert_part_given)
    assert_all_hold(epoch_of(launch), *setup, *steps)
    for case, outcome in epoch_of(launch):
        assert_steps_come_from_payloads(run, cases, _averaged_as_in(case, outcome))
    assert_holds_later(launch, averaged)
    assert_part_averaged_when_wide(launch)


def assert_steps_of_all_but_one_use_mean(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks but one, or all, use the mean in each step. Raises WrongAnswer."""
    steps = _means(case, outcome)
    others = {rank for _, rank, is_mean, tells in steps if not is_mean[tells].all()}
    if len(others) > 1:
        number = outcome.ranks - len(others)
        text = f"{number} of {outcome.ranks} ranks used the mean in every iteration."
        raise WrongAnswer.of("step.few_ranks_use_mean", text, ranks=others)


def assert_steps_use_mean_of_part(case: Training, outcome: Outcome) -> None:
    """Assert that each step uses the mean over all ranks for 40% of the numbers or more.

    And for as many in 40% of the weights, of which a few have most numbers. Raises WrongAnswer.
    """
    for step, rank, is_mean, is_telling in _means(case, outcome):
        averaged = serial.unpacked(is_mean & is_telling, case.first_channels)
        telling = serial.unpacked(is_telling, case.first_channels)
        shares = [
            float(averaged[name].sum() / each.sum())
            for name, each in telling.items()
            if each.ndim > 1 and each.any()
        ]
        number = int((is_mean & is_telling).sum())
        num_weights = sum(share >= _LEAST_SHARE for share in shares)
        facts: dict[str, Any] = {"rank": rank, "iteration": step}
        if number < max(1, _LEAST_SHARE * is_telling.sum()):
            text = f"In iteration {step}, rank {rank} used the mean for {number} numbers."
            raise WrongAnswer.of("step.few_numbers_averaged", text, **facts)
        if num_weights < _LEAST_SHARE * len(shares):
            text = f"In iteration {step}, rank {rank} used the mean in only {num_weights} of "
            text += f"{len(shares)} weight tensors; {ceil(_LEAST_SHARE * len(shares))} are needed."
            raise WrongAnswer.of("step.few_weights_averaged", text, **facts)


def _assert_part_given(case: Training, outcome: Outcome) -> None:
    """Assert that a rank gives as many numbers to the operation of the part. Raises WrongAnswer."""
    least = _LEAST_SHARE * serial.num_parameters(case.first_channels)
    for rank, given in enumerate(outcome["given"]):
        if len(given) and given[0][1] < least:
            text = f"In iteration 0, rank {rank} passed {given[0][1]:.0f} numbers to "
            text += f"{case.exchange}."
            raise WrongAnswer.of("exchange.few_numbers", text, rank=rank)


def _averaged_as_in(case: Training, outcome: Outcome) -> Check:
    """Return the check that all numbers are means which are so in an outcome."""
    before = [is_mean & is_telling for _, _, is_mean, is_telling in _means(case, outcome)]

    def check(case: Training, outcome: Outcome) -> None:
        for expected, (step, rank, is_mean, _) in zip(before, _means(case, outcome), strict=False):
            if not is_mean[expected].all():
                text = f"In iteration {step}, rank {rank} used the mean for fewer numbers."
                raise WrongAnswer.of("step.fewer_numbers_averaged", text, rank=rank, iteration=step)

    return check


def _means(
    case: Training, outcome: Outcome
) -> Iterator[tuple[int, int, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield iteration, rank, which numbers of its step are the mean, and which of these tell.

    Where a rank's own number is the mean already, it tells nothing.
    """
    for step, rank, used, local in steps_of_ranks(case, outcome):
        mean = np.mean(local, axis=0)
        tolerance = _ALIKE * np.mean(np.abs(local), axis=0)
        is_mean = np.abs(used - mean) <= tolerance
        yield step, rank, is_mean, np.abs(local[rank] - mean) > 2 * tolerance
