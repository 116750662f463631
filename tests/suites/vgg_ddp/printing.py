"""Whether a program has printed its loss, in whatever words."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from grader.api import Finding, Outcome, WrongAnswer, found

from .train_cases import Printing

_INTERVAL = 20
_ASKED = (
    f"the loss must be printed every {_INTERVAL} iterations until the end of the epoch, with at "
    "least two decimals"
)
_NUMBER = re.compile(r"(?<![\d.])\d+\.(\d{2,})(?![\w.]*\w)")
_MOST_COVERED = 1.01
"""How long what the different numbers of an iteration match may be: one of very many always fits.

That is 50 numbers with two decimals, or 5000 with four.
"""


def assert_loss_printed(case: Printing, outcome: Outcome) -> None:
    """Assert that a loss was printed every 20 iterations, for as long as the training went on.

    Counting may begin with 0 or 1, and the loss may be that of one iteration, a mean over the 20
    since the last line, or one since the beginning. Raises WrongAnswer.
    """
    losses, printed = outcome["losses"][0], outcome["printed"][0]
    if len(losses) <= _INTERVAL:
        text = f"The training took only {len(losses)} step{'s' * (len(losses) != 1)}, "
        text += "too few to check the printed losses."
        raise WrongAnswer.of("printing.too_few_steps", text, steps=len(losses))
    rest = 0
    numbers = _telling_numbers(printed, outcome["printed_before"][0].tolist())
    for last in range(_INTERVAL, len(losses), _INTERVAL):
        place = _place_of(_accepted(losses, last), numbers, rest)
        if place is None:
            values = f"{losses[last - 1]:.4f} and {losses[last]:.4f}"
            text = f"The losses of iterations {last - 1} and {last} are {values}; "
            text += f"the program printed {_shortened(printed)}."
            reason = _stopped(last) if rest else _missing(last)
            raise WrongAnswer(reason, found("printing.loss", text))
        rest = place


def _missing(last: int) -> Finding:
    text = f"The loss was not printed for iteration {last - 1} or {last}, counted from 0."
    return found("printing.no_loss", text, help=_ASKED, iteration=last)


def _stopped(last: int) -> Finding:
    text = f"The loss was printed near iteration {last - _INTERVAL}, "
    text += f"but not for iteration {last - 1} or {last}, counted from 0."
    return found("printing.stops_early", text, help=_ASKED, iteration=last)


def _accepted(losses: NDArray[np.float64], last: int) -> list[float]:
    """Return what may be printed about iteration `last`, or the one before it."""
    window = losses[last - _INTERVAL : last + 1]
    return [
        float(losses[last - 1]),
        float(losses[last]),
        float(np.mean(window[:-1])),
        float(np.mean(window[1:])),
        float(np.mean(window)),
        # Who counts from 0 and leaves out number 0 divides 21 losses by 20.
        float(np.sum(window) / _INTERVAL),
        float(np.mean(losses[:last])),
        float(np.mean(losses[: last + 1])),
    ]


def _telling_numbers(text: str, ends: Sequence[int]) -> list[re.Match[str]]:
    """Return the numbers in the text, without those of iterations that print many other ones.

    With two decimals or more. ends: how much of the text was there after each step.
    """
    by_iteration: dict[int, list[re.Match[str]]] = {}
    for number in _NUMBER.finditer(text):
        by_iteration.setdefault(bisect_right(ends, number.start()), []).append(number)
    return [
        number
        for numbers in by_iteration.values()
        if sum({each[0]: 2 * _tolerance(each) for each in numbers}.values()) <= _MOST_COVERED
        for number in numbers
    ]


def _place_of(values: Iterable[float], numbers: Iterable[re.Match[str]], begin: int) -> int | None:
    """Return where the first number from `begin` on ends that is one of the values, if any."""
    wanted = list(values)
    for number in numbers:
        is_near = any(abs(float(number[0]) - value) < _tolerance(number) for value in wanted)
        if number.start() >= begin and is_near:
            return number.end()
    return None


def _tolerance(number: re.Match[str]) -> float:
    return 1.001 * 10.0 ** -min(len(number[1]), 6)


def _shortened(text: str) -> str:
    lines = text.strip().splitlines()
    return repr(" / ".join(lines[:4])[:200]) if lines else "nothing"
