"""Whether ranks give others their gradients or models, judged by samples of what they send.

A sample is 8 bytes from a place that is drawn: neighbours of a vector, of which any multiple will
do. Rounding is smaller than what distinguishes any two such vectors.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Call, NotProven, Trace, samples_of

from . import lenet
from .differences import rounding
from .gathering import num_bytes_given

Factors = NDArray[np.float64]

_ROUNDING = 1e-5
"""Of a gradient that torch has computed, in relation to its typical size."""
_TELLING = 10
"""Times its rounding, at least, a number differs from what was known before."""
_PRECISE = 300
"""Times its rounding, at least, is a number that shows which multiple it is of."""
_PRECISE_ALONE = 1e-3
"""Off, at most, is a number that shows this where the multiple may be any."""
_LEAST, _MOST = 1e-20, 1e4
"""Of the sizes of numbers in gradients and models, and in their multiples."""
_PRECISIONS = {"f4": 2.0**-22, "f8": 2.0**-50, "f2": 2.0**-9}
"""By data type, how far off a multiple may be."""
_LEAST_SHARE = 0.25
"""Of the bytes of all gradients or models: not each message can be told, for instance by zeros."""
_WORD_NUM_BYTES = 8
_SHORT_NUM_BYTES = 2 * _WORD_NUM_BYTES
"""Shorter messages contain too few numbers."""
_MOST_COMPARISONS = 4000
_MOST_COMPARISONS_OF_A_SIZE = 1000
"""Of calls and vectors: what is given matches one of the first few mostly. Messages of data, which
match none, have a size of their own."""
MOST_STEPS = 3
"""Or rounds, that are judged."""


@dataclass(frozen=True)
class Expected:
    """A vector that a rank may give others: as it is, or any multiple of it."""

    values: lenet.Vector
    error: lenet.Vector
    """How far rounding may take each number off."""
    places: NDArray[np.intp]
    """Of the numbers that nobody could know before."""
    errors_at_places: lenet.Vector
    """Of these, in relation to each."""


def expected(
    way: lenet.Vector,
    before: lenet.Vector | None = None,
    rounded: lenet.Vector | float = 0.0,
) -> Expected:
    """Return a gradient, or where a step or a training has led from a model.

    before: that model, which others may know. rounded: what the way is a difference of.
    """
    values = way if before is None else before + way
    error = _ROUNDING * (np.abs(way) + np.sqrt(np.mean(way**2)))
    error += rounding(values) + rounding(np.asarray(rounded))
    is_new = np.abs(way) > _TELLING * error
    places = np.flatnonzero(is_new & (np.abs(values) > _PRECISE * error))
    return Expected(values, error, places, error[places] / np.abs(values[places]))


def sums_with(
    rank: int, vectors: Mapping[int, lenet.Vector], *, has_sum_of_all: bool = True
) -> list[lenet.Vector]:
    """Return the sums of a rank's vector and those of any others, its own first.

    has_sum_of_all: one of them may be that of all vectors.
    """
    others = [vector for other, vector in vectors.items() if other != rank]
    return [
        np.sum([vectors[rank], *some], axis=0)
        for number in range(max(len(others) + has_sum_of_all, 1))
        for some in combinations(others, number)
    ]


def assert_contents(
    trace: Trace,
    ranks: Collection[int],
    expected_of: Callable[[int], Sequence[Sequence[Expected]]],
    factors: Sequence[float],
    *,
    is_right: bool,
    least: int,
) -> None:
    """Assert that ranks give others what is expected of them in each step, or round.

    expected_of: for a rank by step, of which one is to be given. factors: of usual multiples.
    is_right: all steps are judged, or else any one. least: how many of the ranks have to give it.
    Raises NotProven.
    """
    missing = dict[int, tuple[float, float]]()
    # Rank 0 is last, because a root may send sums only: looking for its own numbers takes long.
    for number, rank in enumerate(sorted(ranks, reverse=True)):
        if number - len(missing) >= least or len(ranks) - len(missing) < least:
            break
        by_step = expected_of(rank)
        needed = _LEAST_SHARE * lenet.MODEL_NUM_BYTES * (len(by_step) if is_right else 1)
        num_bytes = _num_bytes_holding(trace, rank, by_step, factors, needed)
        if num_bytes < needed:
            missing[rank] = (num_bytes, needed)
    if len(ranks) - len(missing) < least:
        rank, (num_bytes, needed) = next(iter(missing.items()))
        text = (
            f"Samples of the data that rank {rank} sent show only {num_bytes:,.0f} bytes of "
            f"gradients or models from its training; at least {needed:,.0f} are needed. The "
            "trained model might not come from messages; your instructor reviews this part."
        )
        facts: dict[str, Any] = {"rank": rank, "num_bytes": int(num_bytes)}
        facts["needed_num_bytes"] = int(needed)
        raise NotProven.of("evidence.models_not_given", text, **facts)


def may_be_beside(trace: Trace, rank: int) -> bool:
    """Return whether a rank's pickles have room for a model beside the array that is sampled."""
    calls = trace.ranks[rank].calls
    return any(
        call.pickled and call.num_bytes - call.sampled_num_bytes >= lenet.MODEL_NUM_BYTES
        for call in calls
    )


def _num_bytes_holding(
    trace: Trace,
    rank: int,
    by_step: Sequence[Sequence[Expected]],
    factors: Sequence[float],
    needed: float,
) -> float:
    """Return in how many bytes a rank gives what is expected, each step's counted once.

    What was not sampled, or is in a code that nobody reads, may hold it.
    """
    given = [(call, num_bytes_given(call, rank)) for call in trace.ranks[rank].calls]
    num_bytes: float = sum(
        number
        for call, number in given
        if call.sampled_num_bytes < 0 or not (call.sampled_num_bytes or call.pickled)
    )
    seen = [each for each in given if each[1] and each[0].sampled_num_bytes >= _SHORT_NUM_BYTES]
    left = [float(lenet.MODEL_NUM_BYTES)] * len(by_step)
    # What comes next is likely to be another piece of the same kind of vector, or of its successor.
    step = kind = 0
    num_compared = Counter[int]()
    for call, number in sorted(seen, key=lambda each: each[1], reverse=True):
        if num_bytes >= needed or num_compared.total() > _MOST_COMPARISONS:
            break
        if num_compared[number] > _MOST_COMPARISONS_OF_A_SIZE:
            continue
        for at, place in _nearest_first(by_step, step, kind):
            num_compared[number] += 1
            if left[at] and may_hold_multiple(call, by_step[at][place], factors):
                step, kind = at, place
                num_bytes += min(number, left[at])
                left[at] -= min(number, left[at])
                break
    return num_bytes


def _nearest_first(
    by_step: Sequence[Collection[Expected]], step: int, kind: int
) -> list[tuple[int, int]]:
    every = [(number, place) for number, some in enumerate(by_step) for place in range(len(some))]
    return sorted(every, key=lambda each: (each[1] != kind, (each[0] - step) % len(by_step)))


@np.errstate(all="ignore")
def may_hold_multiple(call: Call, expected: Expected, factors: Sequence[float]) -> bool:
    """Return whether most samples of a message are neighbours in one multiple of a vector.

    factors: of the multiples. Any other one will do where all three samples have it in common; they
    are single numbers where they are doubles, and not precise enough in half precision.
    """
    for dtype, precision in _PRECISIONS.items():
        words = samples_of(call, dtype).astype("f8")
        words = words.reshape(-1, _WORD_NUM_BYTES // np.dtype(dtype).itemsize)
        words = words[words.any(axis=1)]
        sizes = np.abs(words[words != 0])
        # Read as another type, numbers are too large or too small.
        if not ((sizes > _LEAST) & (sizes < _MOST)).all():
            continue
        made = [_factors(word, expected, precision) for word in words]
        least = len(words) if dtype == "f8" else min(len(words), 2)
        for factor in factors if len(words) > 1 else factors[:1]:
            is_near = [np.any(np.abs(np.abs(some) / factor - 1) <= off) for some, off in made]
            if least and sum(is_near) >= least:
                return True
        if dtype == "f4" and len(words) > 2 and _agree(made):
            return True
    return False


def _factors(word: Any, expected: Expected, precision: float) -> tuple[Factors, Factors]:
    """Return of which multiples these neighbours may be, and how well each is known."""
    lead, last = int(np.argmax(np.abs(word))), len(expected.values) - len(word)
    places = expected.places
    errors: Any = expected.errors_at_places
    if len(word) > 1:
        first, behind = np.searchsorted(places, [lead, last + lead + 1])
        places, errors = places[first:behind], errors[first:behind]
    else:
        # A single number is no evidence unless it is precise.
        errors = errors / 4
    factors: Any = word[lead] / expected.values[places]
    errors = errors + precision
    for other in range(len(word)):
        if other != lead:
            at = places + (other - lead)
            sizes = np.abs(word[other]), np.abs(factors * expected.values[at])
            off = np.abs(word[other] - factors * expected.values[at])
            allowed = errors * sizes[1] + np.abs(factors) * expected.error[at]
            is_near = off <= allowed + precision * sizes[0]
            places, factors, errors = places[is_near], factors[is_near], errors[is_near]
    return factors, errors


def _agree(made: Sequence[tuple[Factors, Factors]]) -> bool:
    """Return whether all samples may be of the same multiple, whichever it is."""
    (some, errors), *others = (
        (each[off < _PRECISE_ALONE], off[off < _PRECISE_ALONE]) for each, off in made
    )
    for other, other_errors in others:
        apart = np.abs(some[:, None] / other[None, :] - 1)
        is_near = np.any(apart <= errors[:, None] + other_errors[None, :], axis=1)
        some, errors = some[is_near], errors[is_near]
    return len(some) > 0
