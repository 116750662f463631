"""Whether what a rank gives to the operation of the part is its gradient."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_not_truncated,
    call_place,
    call_site,
    calls_by_rank,
)

from .serial import num_parameters
from .steps import num_steps
from .train_cases import Training

_SHARES = (0.5, 0.75, 0.95)
"""Of the sizes of a gradient's numbers: what the probe looks at in what is given away."""
_ALIKE = 0.01
NEARLY_WHOLE = 0.9
"""Of the numbers of a gradient."""
_VARIED = 0.9
"""Of a gradient, half of the numbers are smaller than the large ones; of a constant, none are."""


def assert_gradients_given(
    case: Training, outcome: Outcome, *, ranks: Sequence[int] | None = None
) -> None:
    """Assert that in each iteration a rank gives its gradient to the operation of the part.

    Whole or in pieces, in any order, scaled by any factor; after the last step nobody looks.
    ranks: those that have to, all when left out. Raises WrongAnswer, and RuleViolation where it
    gives nothing to that operation, but something to another one; NotProven where the evidence of
    what was sent does not agree.
    """
    assert_not_truncated(outcome.trace)
    steps = range(max(1, num_steps(case, outcome) - 1))
    for rank in range(outcome.ranks) if ranks is None else ranks:
        for step in steps:
            number, *sizes = outcome["given"][rank][step][1:].tolist()
            if not number:
                _assert_nothing_instead(case, outcome, rank)
            _assert_whole(case, rank, step, number)
            if not _is_scaled(np.array(sizes), outcome["local"][rank][step]):
                gave = (
                    f"In iteration {step}, rank {rank} passed {number:.0f} numbers to "
                    f"{case.exchange}"
                )
                text = f"{gave}, but these numbers are not its gradient."
                helps = "compare the exchanged tensors with .grad directly after backward"
                facts: dict[str, Any] = {"rank": rank, "iteration": step, "numbers": int(number)}
                raise WrongAnswer.of("exchange.not_the_gradient", text, help=helps, **facts)


def assert_nearly_whole_if_any(case: Training, outcome: Outcome) -> None:
    """Assert that a rank which gives numbers in its first iteration gives nearly a gradient's.

    Normalisation layers may be left out. Raises WrongAnswer.
    """
    least = NEARLY_WHOLE * num_parameters(case.first_channels)
    for rank in range(outcome.ranks):
        for number in outcome["given"][rank][:1, 1].tolist():
            if 0 < number < least:
                _assert_whole(case, rank, 0, number)


def _assert_whole(case: Training, rank: int, step: int, number: float) -> None:
    whole = num_parameters(case.first_channels)
    if number < whole:
        text = f"In iteration {step}, rank {rank} passed {number:.0f} number{'s' * (number != 1)} "
        text += f"to {case.exchange}; its gradient has {whole}."
        helps = f"does your code pass every parameter's gradient to {case.exchange}?"
        facts: dict[str, Any] = {"rank": rank, "iteration": step, "numbers": int(number)}
        facts["expected"] = whole
        raise WrongAnswer.of("exchange.gradient_incomplete", text, help=helps, **facts)


def assert_something_given(
    case: Training, outcome: Outcome, *, ranks: Sequence[int] | None = None
) -> None:
    """Assert the same of a part of the gradient: some parameters', or what may be all of it.

    Also of what is given within backward, when it may have been averaged already.
    ranks: as above. Raises WrongAnswer, and RuleViolation and NotProven as above.
    """
    assert_not_truncated(outcome.trace)
    steps = range(max(1, num_steps(case, outcome) - 1))
    whole = num_parameters(case.first_channels)
    for rank in range(outcome.ranks) if ranks is None else ranks:
        for step in steps:
            of_gradients, number, middle, _, large = outcome["given"][rank][step].tolist()
            if not (of_gradients > 0 or (number >= whole and 0 < middle < _VARIED * large)):
                assert_gradients_given(case, outcome, ranks=[rank])
                gave = f"rank {rank} passed {number:.0f} number{'s' * (number != 1)} "
                gave += f"to {case.exchange}"
                text = f"In iteration {step}, {gave}, but not the gradient of any parameter."
                facts: dict[str, Any] = {"rank": rank, "iteration": step, "numbers": int(number)}
                raise WrongAnswer.of("exchange.no_gradient", text, **facts)


def _assert_nothing_instead(case: Training, outcome: Outcome, rank: int) -> None:
    for call in outcome.trace.ranks[rank].calls:
        if call.num_elements > 0 and call.function != case.exchange:
            called, place = call.function, call_place(call)
            text = f"Rank {rank} called {called}{call_site(call)} and passed nothing to "
            text += f"{case.exchange}, which must carry the gradients in this part."
            raise RuleViolation.of(
                "exchange.by_another_operation", text, rank=rank, call=called, place=place
            )


def assert_gradients_sent(case: Training, outcome: Outcome) -> None:
    """Assert that every rank but 0 sends its gradient away. Raises WrongAnswer."""
    assert_gradients_given(case, outcome, ranks=range(1, outcome.ranks))


def assert_something_sent(case: Training, outcome: Outcome) -> None:
    """Assert the same of a part of the gradient. Raises WrongAnswer."""
    assert_something_given(case, outcome, ranks=range(1, outcome.ranks))


def gives_gradient(case: Training, outcome: Outcome, rank: int) -> bool:
    """Return whether the first that a rank gives away is one parameter's gradient, or all of it."""
    of_gradients, number, *sizes = outcome["given"][rank][0].tolist()
    is_all = number >= num_parameters(case.first_channels) and _is_scaled(
        np.array(sizes), outcome["local"][rank][0]
    )
    return bool(of_gradients > 0 or is_all)


def _is_scaled(sizes: NDArray[np.float64], gradient: NDArray[Any]) -> bool:
    """Return whether numbers of these sizes can be a gradient's, times a factor."""
    own = np.quantile(np.abs(gradient.astype(np.float64)), _SHARES)
    if not (np.isfinite(sizes).all() and sizes[-1] > 0 and own[-1] > 0):
        return False
    return bool(np.allclose(sizes / sizes[-1], own / own[-1], rtol=0, atol=_ALIKE))


def num_elements_given(outcome: Outcome, name: str) -> int:
    """Return how many numbers all ranks together gave to an operation."""
    calls = (call for _, call in calls_by_rank(outcome.trace))
    meant = (each for each in calls if each.function.removesuffix("_coalesced") == name)
    return sum(each.num_elements for each in meant)


def assert_num_elements(case: Training, outcome: Outcome, name: str, *, copies: int) -> None:
    """Assert that an operation carried the whole gradient, in each step, `copies` times in all.

    What each rank gives is counted. Raises RuleViolation.
    """
    number = num_steps(case, outcome) + outcome.inputs[0]["num_earlier_steps"]
    wanted = copies * number * num_parameters(case.first_channels)
    given = num_elements_given(outcome, name)
    if given < wanted:
        text = f"Between backward and step, all ranks together passed {given} numbers to {name}; "
        text += f"expected {wanted}, for the gradients of all steps."
        helps = f"in this part, all gradients must travel through {name}"
        facts: dict[str, Any] = {"call": name, "numbers": given, "expected": wanted}
        raise RuleViolation.of("exchange.too_few_numbers", text, help=helps, **facts)
