"""Whose gradients are in what a rank ended with, and how often: told from the numbers alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.api import Attempt, Finding, Outcome, found, listed, ranks_text

from . import serial

Gradients = NDArray[np.float64]
"""One row a rank or an epoch, one column for each of the parameters."""

NEARLY_ALL = 0.9
"""Of the elements: what ranks leave out at the end of a tensor or a vector is far less."""
_TOLERANCE = 1e-2
"""Of a tensor's usual gradient: far more than rounding, in float16 too; ranks differ by more."""
_LEAST_FACTOR = 1e-3
_WINDOW = 64
"""How many neighbouring elements are looked at together: many more than there are ranks."""
_NOTICEABLE = 0.05
_MAX_CONDITION = 1e3


@dataclass(frozen=True)
class Sums:
    """Where a rank's result is the sum over all ranks, times one factor."""

    factor: float
    """1 for the sum itself, 1/n for the mean."""
    complete: NDArray[np.bool_]
    """One for each element."""
    is_even: bool = True
    """Whether the factor is that of each rank; otherwise it is their mean."""

    @property
    def share(self) -> float:
        """Return how much of the result is complete, from 0 to 1."""
        return float(self.complete.mean())


@dataclass(frozen=True)
class Composition:
    """Of windows of neighbouring elements: how often each rank's gradients are in them."""

    coefficients: Gradients
    """One row a window, one column a rank."""
    is_known: NDArray[np.bool_]
    """Windows that are a combination of the ranks' gradients, and of one combination only."""

    @property
    def is_complete(self) -> NDArray[np.bool_]:
        """Return windows that hold all ranks' gradients, none with a far smaller factor."""
        least, most = self.coefficients.min(axis=1), self.coefficients.max(axis=1)
        return self.is_known & (least > np.maximum(_NOTICEABLE * most, _LEAST_FACTOR))

    def sums(self, size: int) -> Sums:
        """Return the same of each element; size: of the result."""
        complete = np.zeros(size, np.bool_)
        complete[: _WINDOW * len(self.is_known)] = np.repeat(self.is_complete, _WINDOW)
        known = self.coefficients[self.is_complete]
        return Sums(float(known.mean()) if len(known) else 0.0, complete, is_even=False)

    def reached_by(self, rank: int) -> bool:
        """Return whether a noticeable part of the result holds this rank's gradients."""
        known = np.abs(self.coefficients[self.is_known])
        if not len(known):
            return False
        largest = np.maximum(known.max(axis=1), _LEAST_FACTOR)
        return bool((known[:, rank] > _NOTICEABLE * largest).mean() > _NOTICEABLE)


def held_after(outcome: Outcome, rank: int) -> Gradients:
    """Return what a rank has of the mean, a row an epoch: in parameter.grad, or else returned."""
    averaged, returned = outcome["averaged"][rank], outcome["returned"][rank]
    held = averaged if len(averaged) else returned
    return np.asarray(held, dtype=np.float64)


def own_gradients(outcome: Outcome, epoch: int) -> Gradients:
    """Return the gradients that the ranks brought in an epoch, a row a rank."""
    return np.array([rows[epoch] for rows in outcome["own"]], dtype=np.float64)


def num_epochs(outcome: Outcome) -> int:
    """Return how many epochs all ranks came through, with something to look at after them."""
    lengths = [len(held_after(outcome, rank)) for rank in range(outcome.ranks)]
    return min(lengths + [len(rows) for rows in outcome["own"]])


def num_calls(outcome: Outcome) -> int:
    """Return how often all ranks came back from the student's function."""
    epochs = num_epochs(outcome)
    return num_all_calls(outcome) if epochs == outcome.inputs[0]["epochs"] else epochs


def num_all_calls(answer: Outcome | Attempt) -> int:
    """Return how often the student's function is called, if nothing fails."""
    given = answer.inputs[0]
    return int(given["epochs"] + given["num_more_calls"])


def sums_of(outcome: Outcome, rank: int, epoch: int, without: int | None = None) -> Sums:
    """Return where a rank ended an epoch with the sum over all ranks, whatever its factor is.

    The same with a factor for each rank, also where each chunk has its own. without: a rank that is
    not in the sum.
    """
    held, own = held_after(outcome, rank)[epoch], own_gradients(outcome, epoch)
    if without is not None:
        own = np.delete(own, without, axis=0)
    total, n = own.sum(axis=0), len(own)
    usual = _usual_size(own)
    large = np.abs(total) > usual
    median = float(np.median(held[large] / total[large])) if large.any() else 0.0
    likely = [
        Sums(factor, np.abs(held - factor * total) <= factor * _TOLERANCE * usual)
        for factor in (1 / n, 1.0, 1 / n**2, median)
        if factor > _LEAST_FACTOR
    ]
    if all(sums.share < NEARLY_ALL for sums in likely):
        likely.append(_composition(held, own).sums(held.size))
    return max(likely, key=lambda sums: sums.share)


def is_plausible(outcome: Outcome, rank: int, epoch: int) -> NDArray[np.bool_]:
    """Return which elements of a result are no larger than sums of the ranks' gradients can be.

    An altered element is: it is 2 at least when it is sent, and may be divided by n twice.
    """
    held, own = held_after(outcome, rank)[epoch], own_gradients(outcome, epoch)
    return np.abs(held) < np.abs(own).sum(axis=0) + 1 / outcome.ranks**2


def composition_of(outcome: Outcome, rank: int, epoch: int) -> Composition:
    """Return whose gradients are in what a rank ended an epoch with."""
    return _composition(held_after(outcome, rank)[epoch], own_gradients(outcome, epoch))


def _composition(held: Gradients, own: Gradients) -> Composition:
    number = held.size // _WINDOW
    results = held[: number * _WINDOW].reshape(number, _WINDOW)
    sources = own[:, : number * _WINDOW].reshape(len(own), number, _WINDOW).transpose(1, 2, 0)
    scale = np.maximum(np.abs(sources).max(axis=(1, 2)), np.finfo(np.float32).tiny)
    sources, results = sources / scale[:, None, None], results / scale[:, None]
    coefficients = np.einsum("wre,we->wr", np.linalg.pinv(sources, rcond=1e-6), results)
    rest = results - np.einsum("wer,wr->we", sources, coefficients)
    fits = np.abs(rest).max(axis=1) <= _TOLERANCE * np.abs(coefficients).max(axis=1)
    return Composition(coefficients, fits & (np.linalg.cond(sources) < _MAX_CONDITION))


def unequal_shares(outcome: Outcome, rank: int, epoch: int) -> Finding | None:
    """Return the first place where a result does not hold each rank's gradients once.

    Or the factors of the ranks' gradients where these first differ, if they do nearly everywhere.
    None where neither is so.
    """
    composition, n = composition_of(outcome, rank, epoch), outcome.ranks
    for divisor in (n, 1):
        times = composition.coefficients * divisor
        whole = np.abs(times - times.round()) <= 2 * _TOLERANCE
        odd = composition.is_known & whole.all(axis=1) & (times.round() != 1).any(axis=1)
        if odd.any():
            window = int(np.argmax(odd))
            counts = dict(enumerate(times[window].round().astype(int).tolist()))
            first = serial.name_at(window * _WINDOW)
            missing = [source for source, count in counts.items() if not count]
            repeated = {source: count for source, count in counts.items() if count not in (0, 1)}
            told = [
                f"contains rank {source}'s gradients {_times(count)}"
                for source, count in repeated.items()
            ]
            told += [f"lacks the gradients of {ranks_text(missing)}"] if missing else []
            return found(
                "mean.unequal_shares",
                f"From {first} on, rank {rank}'s result {listed(told)}.",
                help=f"follow {first} from message to message: what does each rank add?",
                rank=rank,
                first=first,
                missing=missing,
                repeated=list(repeated),
            )
    spread = np.ptp(composition.coefficients, axis=1)
    is_uneven = spread > _NOTICEABLE * composition.coefficients.max(axis=1)
    if (composition.is_complete & is_uneven).mean() < NEARLY_ALL:
        return None
    window = int(np.argmax(composition.is_complete & is_uneven))
    weights, first = composition.coefficients[window], serial.name_at(window * _WINDOW)
    terms = listed([f"{weight:.3g} x rank {each}'s" for each, weight in enumerate(weights)])
    return found(
        "mean.unequal_weights",
        f"From {first} on, rank {rank}'s result is {terms} gradients; all factors must be equal.",
        help="add up all gradients first, and divide once",
        rank=rank,
        weights=weights.round(3).tolist(),
    )


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _usual_size(own: Gradients) -> Gradients:
    """Return for each element the root mean square of its tensor's gradients, over all ranks."""
    usual = np.empty(own.shape[1])
    for where in serial.SLICES.values():
        usual[where] = np.sqrt((own[:, where] ** 2).mean())
    return usual
