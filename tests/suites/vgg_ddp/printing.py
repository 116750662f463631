"""Whether a program has printed its loss, in whatever words."""

import re
from collections.abc import Iterable

import numpy as np

from grader.judge.findings import WrongAnswer
from grader.model import Outcome

from .train_cases import Printing

_INTERVAL = 20
_NUMBER = re.compile(r"(?<![\d.])\d+\.(\d{2,})(?![\w.]*\w)")


def assert_loss_printed(case: Printing, outcome: Outcome) -> None:
    """Assert that a loss of the 20th or 21st iteration, or a mean up to there, was printed.

    Counting may begin with 0 or 1, and the loss may be that of one iteration or of the 20 since
    the last line. Raises WrongAnswer.
    """
    losses, printed = outcome["losses"][0], outcome["printed"][0]
    if len(losses) <= _INTERVAL:
        raise WrongAnswer(f"{case.label}: the training took only {len(losses)} steps")
    expected = {
        f"iteration {_INTERVAL - 1}": losses[_INTERVAL - 1],
        f"iteration {_INTERVAL}": losses[_INTERVAL],
        "the first 20": np.mean(losses[:_INTERVAL]),
        "the 20 after the first": np.mean(losses[1 : _INTERVAL + 1]),
        "the first 21": np.mean(losses[: _INTERVAL + 1]),
        # Who counts from 0 and leaves out number 0 divides 21 losses by 20.
        "the first 21, by 20": np.sum(losses[: _INTERVAL + 1]) / _INTERVAL,
    }
    if not is_printed(expected.values(), printed):
        raise WrongAnswer(
            f"{case.label}: the loss is to be printed every 20 iterations, with two decimals or "
            f"more; in iterations {_INTERVAL - 1} and {_INTERVAL}, counted from 0, it is "
            f"{losses[_INTERVAL - 1]:.4f} and {losses[_INTERVAL]:.4f}, and neither stands in what "
            f"was printed: {_shortened(printed)}"
        )


def is_printed(values: Iterable[float], text: str) -> bool:
    """Return whether one of the values stands in the text, with two decimals or more."""
    wanted = list(values)
    return any(
        abs(float(found[0]) - value) < 1.001 * 10.0 ** -min(len(found[1]), 6)
        for found in _NUMBER.finditer(text)
        for value in wanted
    )


def _shortened(text: str) -> str:
    lines = text.strip().splitlines()
    return repr(" / ".join(lines[:4])[:200]) if lines else "nothing"
