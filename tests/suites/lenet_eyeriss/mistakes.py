"""Recognises the usual mistakes of an all-reduce by the gradients that they leave behind."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Finding, Outcome, found, ranks_text

from . import serial
from .shares import NEARLY_ALL, held_after, num_epochs, sums_of, unequal_shares

_RTOL = 1e-4
"""Of the largest gradient: enough for float32, far less than the ranks differ by."""
_DIVISOR_RTOL = 0.01
_TINY = float(np.finfo(np.float64).tiny)

Gradients = NDArray[np.float64]
Indices = NDArray[np.intp]


def known_mistake(outcome: Outcome, rank: int, epoch: int | None = None) -> Finding | None:
    """Return the mistake that would give this rank's gradients; None where no usual one does.

    epoch: the one to look at; otherwise the first in which they are not the mean.
    """
    number = num_epochs(outcome)
    own = np.array([rows[:number] for rows in outcome["own"]], dtype=np.float64)
    mean = own.mean(axis=0)
    held = held_after(outcome, rank)
    if epoch is None:
        epoch = next((each for each in range(number) if not _same(held[each], mean[each])), None)
    if epoch is None:
        text = f"Rank {rank}'s gradients are correct, but average_gradients changed parameters."
        helps = "which lines change something other than parameter.grad?"
        return found("mean.parameters_changed", text, help=helps, rank=rank)
    if _same(held[epoch], mean[epoch]):
        return None
    if epoch > 0 and _same(held[epoch], mean[epoch - 1]):
        text = f"Rank {rank} ended epoch {epoch + 1} with the mean gradients of epoch {epoch}."
        helps = "when does your code copy parameter.grad into the values that it sends?"
        return found("mean.of_epoch_before", text, help=helps, rank=rank, epoch=epoch + 1)
    if epoch > 0 and _same(held[epoch] - held[epoch - 1], mean[epoch]):
        text = (
            f"Rank {rank}'s result in epoch {epoch + 1} still contains the result of epoch {epoch}."
        )
        helps = "which buffers must be cleared before your code adds to them?"
        return found("mean.adds_to_the_last", text, help=helps, rank=rank, epoch=epoch + 1)
    factor = float(held[epoch] @ mean[epoch] / max(mean[epoch] @ mean[epoch], _TINY))
    if factor > _RTOL and _same(held[epoch], factor * mean[epoch]):
        return wrong_divisor(rank, len(own), len(own) / factor)
    if _same(held[epoch], own[rank, epoch]):
        with_mean = [
            each for each in range(len(own)) if _same(held_after(outcome, each)[epoch], mean[epoch])
        ]
        return _kept_own(rank, epoch, with_mean)
    for likely, mistake in _likely(own[:, epoch], rank, epoch):
        if _same(held[epoch], likely):
            return mistake
    wrong = np.flatnonzero(np.abs(held[epoch] - mean[epoch]) > _RTOL * np.abs(mean[epoch]).max())
    are_few = 0 < wrong.size < mean[epoch].size / 2
    return (
        (_left_out(held[epoch], own[:, epoch], wrong, rank) if are_few else None)
        or _not_passed_on(outcome, rank, epoch)
        or unequal_shares(outcome, rank, epoch)
        or (_some_wrong(wrong, mean[epoch].size, rank) if are_few else None)
    )


def wrong_divisor(rank: int, num_ranks: int, divisor: float) -> Finding:
    """Return that the sum over all ranks is divided by something else than their number."""
    if abs(divisor - 1) <= _DIVISOR_RTOL:
        text = f"Rank {rank} ended with the sum of all ranks' gradients, not with their mean."
        helps = "what must the complete sum be divided by?"
        return found("mean.sum_not_divided", text, help=helps, rank=rank)
    # On 2 ranks a second division looks like a fixed divisor of 4.
    if num_ranks > 2 and abs(divisor / num_ranks**2 - 1) <= _DIVISOR_RTOL:
        text = f"Rank {rank} ended with the sum divided twice by the number of ranks."
        helps = "how many times does your code divide?"
        return found("mean.divided_twice", text, help=helps, rank=rank)
    divisor = float(f"{divisor:.4g}")
    text = f"Rank {rank} ended with the sum over all ranks divided by {divisor:g}"
    text += f"; expected {num_ranks}."
    helps = "compare the divisor with the number of ranks"
    return found("mean.wrong_divisor", text, help=helps, rank=rank, divisor=divisor)


def _kept_own(rank: int, epoch: int, with_mean: Sequence[int]) -> Finding:
    """Return that a rank averaged nothing, or got no mean; with_mean: the ranks that have it."""
    text = f"Rank {rank} ended epoch {epoch + 1} with its own gradients"
    if not with_mean:
        text += "; they were not averaged."
        helps = "what does your code write into parameter.grad?"
        return found("mean.not_averaged", text, help=helps, rank=rank)
    text += f"; only {ranks_text(with_mean)} had the mean."
    helps = "how does the mean get to the other ranks?"
    return found("mean.not_sent_back", text, help=helps, rank=rank, with_mean=with_mean)


def _likely(own: Gradients, rank: int, epoch: int) -> Iterator[tuple[Gradients, Finding]]:
    """Yield gradients with the mistake that leads to them; own: one row a rank before the call."""
    num_ranks, ends = len(own), f"Rank {rank} ended epoch {epoch + 1} with"
    total = own.sum(axis=0)
    text = f"{ends} its own gradients divided by the number of ranks."
    helps = "which gradients does your code add before it divides?"
    yield own[rank] / num_ranks, found("mean.only_own_divided", text, help=helps, rank=rank)
    for source in range(num_ranks):
        text = f"{ends} rank {source}'s gradients; no other rank's were added."
        helps = "where does your code add the other ranks' gradients?"
        yield own[source], found("mean.of_one_rank", text, help=helps, rank=rank, source=source)
    for step, side in ((-1, "left"), (1, "right")):
        text = f"{ends} only its own and its {side} neighbour's gradients."
        helps = "where does your code add the other ranks' gradients?"
        mistake = found("mean.one_neighbour", text, help=helps, rank=rank, side=side)
        for divisor in (1, 2, num_ranks):
            yield (own[rank] + own[(rank + step) % num_ranks]) / divisor, mistake
    for source in range(num_ranks if num_ranks > 1 else 0):
        text = f"{ends} a sum without rank {source}'s gradients."
        helps = f"follow rank {source}'s gradients from message to message"
        mistake = found("mean.rank_missing", text, help=helps, rank=rank, missing=source)
        for divisor in (1, num_ranks - 1, num_ranks):
            yield (total - own[source]) / divisor, mistake


def _not_passed_on(outcome: Outcome, rank: int, epoch: int) -> Finding | None:
    """Return that each of several ranks has a chunk that is complete, and keeps it."""
    n = outcome.ranks
    if n == 1:
        return None
    complete = np.array([sums_of(outcome, each, epoch).complete for each in range(n)])
    if complete.any(axis=0).mean() < NEARLY_ALL or complete.mean(axis=1).max() > 1.5 / n:
        return None
    text = f"Each rank completed one chunk of the sum; rank {rank} got no other complete chunk."
    helps = "what does a rank do with its complete chunk?"
    return found("mean.chunks_not_passed_on", text, help=helps, rank=rank)


def _left_out(held: Gradients, own: Gradients, wrong: Indices, rank: int) -> Finding | None:
    """Return that a few elements still hold the rank's own values."""
    if not any(_same(held[wrong], own[rank][wrong] / divisor) for divisor in (1, len(own))):
        return None
    text = f"Rank {rank} left out {wrong.size} of {held.size} gradients ({_extent(wrong)}): "
    text += "it kept only its own contribution."
    helps = "compare the number of elements in your messages with the number of gradients"
    return found("mean.some_left_out", text, help=helps, rank=rank, **_few(wrong))


def _some_wrong(wrong: Indices, num_elements: int, rank: int) -> Finding:
    verb = "is" if wrong.size == 1 else "are"
    text = f"On rank {rank}, {wrong.size} of {num_elements} gradients {verb} not the mean "
    text += f"({_extent(wrong)})."
    helps = f"what does your code do differently with {serial.name_at(int(wrong[0]))}?"
    return found("mean.some_wrong", text, help=helps, rank=rank, **_few(wrong))


def _few(indices: Indices) -> dict[str, Any]:
    return {"number": indices.size, "first": serial.name_at(int(indices[0]))}


def _extent(indices: Indices) -> str:
    first, last = (serial.name_at(int(index)) for index in indices[[0, -1]])
    return f"first {first}, last {last}" if indices.size > 1 else first


def _same(one: Gradients, other: Gradients) -> bool:
    return bool((np.abs(one - other) <= _RTOL * np.abs(other).max()).all())
