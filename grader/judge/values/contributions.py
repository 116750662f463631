"""Says whose contributions are in a wrong sum: missing, doubled, those of another place.

Inputs of many random bits make this possible: hardly two selections of them have the same sum, so
that a sum tells what it is made of.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.judge.values.array_comparison import index_text
from grader.trace.call_formatting import listed, ranks_text

Values = NDArray[Any]

_MOST_COMBINATIONS = 1 << 16
_MOST_TIMES = 4
"""How often one contribution is looked for in a sum."""
_MOST_CANDIDATES = 64
_ENOUGH_ELEMENTS = 8
"""So many that agree are no accident, whatever the dtype."""
_MOST_PLACES = 512
"""In longer arrays nobody looks for parts of sums at other places."""


def sum_text(
    got: Values,
    contributions: Sequence[Values],
    *,
    own: int | None = None,
    strangers: Mapping[str, Values] | None = None,
) -> str:
    """Return what a wrong sum is made of, such as `it contains only rank 1's own contribution`.

    got: one rank's array, which differs from the sum. contributions: one array a rank, of the same
    shape; sums of them are exact. own: the rank whose array `got` is.
    strangers: arrays of the same shape that have no place in the sum, by their name for a student.
    Returns a clause that follows `recv[3] is 4.5; expected 5.5`; nothing where no selection of
    these numbers explains the first wrong element and those right after it.
    """
    terms = [np.asarray(each).reshape(-1) for each in contributions]
    found = np.asarray(got).reshape(-1)
    with np.errstate(all="ignore"):
        wrong = np.flatnonzero(found != np.sum(terms, axis=0))
    if not len(wrong) or len(terms) < 2:
        return ""
    block = _first_block(wrong)
    named = dict(strangers or {})
    for name in ["", *named]:
        rest = found - np.asarray(named[name]).reshape(-1) if name else found
        counts = _composition(rest[block], [term[block] for term in terms])
        if counts is not None:
            return _counts_text(counts, name, own)
    return _elsewhere_text(found, terms, block, np.asarray(got).shape)


def factor_text(got: Values, expected: Values, num_ranks: int) -> str:
    """Return a clause if an array is a multiple, or the mean, of the expected one; else nothing."""
    if not got.size or not np.any(expected):
        return ""
    for factor in range(2, max(2 * num_ranks, _MOST_TIMES) + 1):
        times = "n = " if factor == num_ranks else ""
        if np.array_equal(got, expected * factor):
            return f"every element is exactly {times}{factor} times the expected value"
        if factor == num_ranks and _is_quotient(got, expected, factor):
            return f"this is the mean over {num_ranks} ranks, not the sum"
    return ""


def _is_quotient(got: Values, expected: Values, divisor: int) -> bool:
    if expected.dtype.kind == "f":
        return bool(np.allclose(got, expected / divisor, rtol=4 * np.finfo(expected.dtype).eps))
    return np.array_equal(got, expected // divisor)


def _first_block(wrong: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first of the wrong indices, and those that follow it without a gap."""
    gaps = np.flatnonzero(np.diff(wrong) > 1)
    end = int(gaps[0]) + 1 if len(gaps) else len(wrong)
    return wrong[: min(end, _ENOUGH_ELEMENTS)]


def _composition(sums: Values, terms: Sequence[Values]) -> tuple[int, ...] | None:
    """Return how often each term is in the sums, the same for as many as there are.

    None where nothing fits, or more than one combination does: the block may cross the border of
    two chunks, so the last elements need not agree.
    """
    counts = _combinations(len(terms))
    matrix = np.stack([term[:1] for term in terms]).astype(sums.dtype)
    fitting = np.flatnonzero((counts.astype(sums.dtype) @ matrix)[:, 0] == sums[0])
    if not 0 < len(fitting) <= _MOST_CANDIDATES * len(terms):
        return None
    lengths = {int(row): _num_agreeing(sums, terms, counts[row]) for row in fitting}
    longest = max(lengths.values())
    best = [row for row, length in lengths.items() if length == longest]
    if len(best) > 1 or not _is_certain(sums.dtype, longest):
        return None
    return tuple(int(number) for number in counts[best[0]])


def _num_agreeing(sums: Values, terms: Sequence[Values], counts: Values) -> int:
    total = sum(number * term for number, term in zip(counts.tolist(), terms, strict=True))
    return _num_equal(np.asarray(total).astype(sums.dtype), sums)


def _is_certain(dtype: np.dtype[Any], num_elements: int) -> bool:
    """Return whether so many elements cannot agree by accident."""
    return num_elements >= 3 or dtype.itemsize >= 8


@cache
def _combinations(num_terms: int) -> NDArray[np.int64]:
    """Return how often each term may be in a sum, one row a combination, the likely ones at least.

    All with up to so many times each that there are not too many; for many terms each at most
    once, or one of them more often, perhaps in place of another.
    """
    for times in range(_MOST_TIMES, 0, -1):
        if (times + 1) ** num_terms <= _MOST_COMBINATIONS:
            every = np.array(list(product(range(times + 1), repeat=num_terms)), dtype=np.int64)
            break
    else:
        every = np.zeros((0, num_terms), dtype=np.int64)
    unit = np.eye(num_terms, dtype=np.int64)
    once = np.ones(num_terms, dtype=np.int64)
    swapped = (once[None, None] + unit[:, None] - unit[None]).reshape(-1, num_terms)
    likely = [once + unit, once + 2 * unit, unit, 2 * unit, swapped]
    return np.unique(np.concatenate([every, *likely]), axis=0)


def _counts_text(counts: Sequence[int], stranger: str, own: int | None) -> str:
    stranger = stranger.removesuffix(",")
    present = [rank for rank, number in enumerate(counts) if number]
    missing = [rank for rank, number in enumerate(counts) if not number]
    repeated = {rank: number for rank, number in enumerate(counts) if number > 1}
    beside = f" and {stranger}" if stranger else ""
    if present == [own] and not repeated:
        return f"it contains only rank {own}'s own contribution{beside}"
    if not present:
        return f"it contains only {stranger}" if stranger else "it contains no rank's contribution"
    if missing and len(missing) >= len(present) and not repeated:
        of_these = f"contribution{'s' * (len(present) > 1)} of {ranks_text(present)}"
        return f"it contains only the {of_these}{beside}"
    by_times: dict[int, list[int]] = {}
    for rank, number in repeated.items():
        by_times.setdefault(number, []).append(rank)
    said = [
        f"it contains the contribution{'s' * (len(ranks) > 1)} of {ranks_text(ranks)} "
        f"({'twice' if number == 2 else f'{number} times'})"
        for number, ranks in sorted(by_times.items())
    ]
    if missing:
        said.append(
            f"nothing from {ranks_text(missing)}"
            if said
            else f"it lacks the contribution{'s' * (len(missing) > 1)} of {ranks_text(missing)}"
        )
    if stranger:
        said.append(f"it also contains {stranger}")
    return listed(said)


def _elsewhere_text(
    found: Values, terms: Sequence[Values], block: NDArray[np.intp], shape: tuple[int, ...]
) -> str:
    """Return that an element holds what belongs to another place: that of another chunk."""
    total = np.asarray(np.sum(terms, axis=0))
    first = int(block[0])
    for place in np.flatnonzero(total == found[first]).tolist():
        here = _that_fit(block, place - first, len(found))
        if _is_certain(found.dtype, _num_equal(found[here], total[here + place - first])):
            return f"it is the correct result for {_place_text(place, shape)}"
    for place in range(len(found) if len(found) <= _MOST_PLACES else 0):
        here = _that_fit(block, place - first, len(found))
        counts = _composition(found[here], [term[here + place - first] for term in terms])
        if place != first and counts is not None and any(counts):
            ranks = [rank for rank, number in enumerate(counts) if number]
            have = "has" if len(ranks) == 1 else "have"
            return f"it contains what {ranks_text(ranks)} {have} at {_place_text(place, shape)}"
    return ""


def _that_fit(block: NDArray[np.intp], shift: int, length: int) -> NDArray[np.intp]:
    """Return the indices from the first on that are, moved by so much, still indices."""
    return block[(block + shift >= 0) & (block + shift < length)]


def _place_text(place: int, shape: tuple[int, ...]) -> str:
    index = tuple(int(i) for i in np.unravel_index(place, shape))
    return f"{index_text(index)}, probably in another chunk"


def _num_equal(some: Values, others: Values) -> int:
    differing = np.flatnonzero(some != others)
    return int(differing[0]) if len(differing) else len(some)
