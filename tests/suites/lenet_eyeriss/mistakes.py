"""Recognises the usual mistakes of an all-reduce by the gradients that they leave behind."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grader.api import Outcome

from . import serial
from .shares import composition_text, held_after, num_epochs

_RTOL = 1e-4
"""Of the largest gradient: enough for float32, far less than the ranks differ by."""

Gradients = NDArray[np.float64]


def known_mistake(outcome: Outcome, rank: int) -> str:
    """Return the mistake that would give this rank's gradients, as the end of a sentence.

    Looks at the first epoch in which they are not the mean. Empty if none of the usual does.
    """
    number = num_epochs(outcome)
    own = np.array([rows[:number] for rows in outcome["own"]], dtype=np.float64)
    mean = own.mean(axis=0)
    held = held_after(outcome, rank)
    epochs = [epoch for epoch in range(number) if not _same(held[epoch], mean[epoch])]
    if not epochs:
        return (
            f". Rank {rank}: the gradients are right, so the call has changed the parameters "
            "themselves; it must only change parameter.grad"
        )
    epoch = epochs[0]
    where = f". Rank {rank}, gradients of epoch {epoch + 1}: "
    if epoch > 0 and _same(held[epoch], mean[epoch - 1]):
        return f"{where}they are the mean of the epoch before; this epoch's were not sent"
    for likely, mistake in _likely(own[:, epoch], rank):
        if _same(held[epoch], likely):
            return f"{where}{mistake}"
    told = _partly(where, held[epoch], mean[epoch], own[:, epoch], rank)
    composition = composition_text(outcome, rank, epoch)
    if not composition:
        return told
    return f"{told}; {composition}" if told else f"{where}{composition}"


def _likely(own: Gradients, rank: int) -> Iterator[tuple[Gradients, str]]:
    """Yield gradients, one row a rank before the call, with the mistake that leads to them."""
    num_ranks = len(own)
    mean = own.mean(axis=0)
    yield own[rank], "they are still this rank's own; nothing was averaged"
    yield mean * num_ranks, "they are the sum over all ranks; divide it by their number"
    yield mean / num_ranks, "they are the mean divided by the number of ranks once more"
    yield own[rank] / num_ranks, "they are this rank's own divided by the number of ranks"
    yield own[0], "they are rank 0's own; the other ranks' are missing"
    for step, side in ((-1, "left"), (1, "right")):
        pair = own[rank] + own[(rank + step) % num_ranks]
        for divisor in (1, 2, num_ranks):
            yield (
                pair / divisor,
                f"only those of the {side} neighbour were added to this rank's own; a sum has to "
                "go all the way round",
            )
    for source in range(num_ranks):
        yield own[source], f"they are rank {source}'s own"
    if num_ranks > 1:
        for source in range(num_ranks):
            rest = mean * num_ranks - own[source]
            for divisor in (1, num_ranks - 1, num_ranks):
                yield rest / divisor, f"rank {source}'s own are missing from the sum"


def _partly(where: str, held: Gradients, mean: Gradients, own: Gradients, rank: int) -> str:
    """Return which elements are not the mean, when most are."""
    wrong = np.flatnonzero(np.abs(held - mean) > _RTOL * np.abs(mean).max())
    if not 0 < wrong.size < mean.size / 2:
        return ""
    first, last = serial.name_at(int(wrong[0])), serial.name_at(int(wrong[-1]))
    which = f"are not, from {first} to {last}" if wrong.size > 1 else f"is not, that of {first}"
    own_ones = "; still this rank's own there" if _same(held[wrong], own[rank][wrong]) else ""
    return f"{where}most are the mean, {wrong.size} of {mean.size} {which}{own_ones}"


def _same(one: Gradients, other: Gradients) -> bool:
    return bool((np.abs(one - other) <= _RTOL * np.abs(other).max()).all())
