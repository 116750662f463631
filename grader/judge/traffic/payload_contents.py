"""Whether what gloo sends holds what ranks contribute: windows of arrays, sums and multiples.

A sample of a payload is some neighbouring numbers. Without their mean and divided by their length
they are the same for every multiple, and nearly the same in half the precision.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.judge.check_failures import NotProven
from grader.model.report import Outcome
from grader.trace.sent_by_gloo import GlooSamples

Values = NDArray[Any]

_MOST_RANKS = 6
"""On which all sums can be looked through."""
_NUM_BYTES_PER_NUMBER = 0.5
"""A ring of two ranks sends half of the numbers; in half precision this is half of the bytes."""
_FEW_NUMBERS = 8
_LEAST_COSINE_OF_FEW = 0.99995
_LEAST_COSINE = 0.98
"""16 other numbers come so near once in a thousand million times."""
_BINFLOAT = ord("G")
"""What a pickle has before each float of Python, whose eight bytes have the highest first."""
_LEAST_SPREAD = 0.75
"""Of numbers, against ones all as far from their mean; one number beside zeros has less."""
_ROUNDING = 1e-3
_CLEAR_SHARE = 0.1
"""Read as another type, hardly any are."""
_AT_ONCE = 1 << 12
"""Windows that are compared."""


def assert_contributions_sent(
    outcome: Outcome,
    arrays: Sequence[Sequence[Values]],
    *,
    operations: Collection[str] = (),
    other_order: NDArray[np.intp] | None = None,
) -> None:
    """Assert that all ranks except one send pieces of their own arrays, or of sums with these.

    The one may send out the sum over all ranks; any multiple counts, in any precision.
    arrays: what each rank contributes, one after the other. operations: of torch.distributed, as
    gloo names them; all when left out. other_order: the places of each array, in an order in
    which it may be sent as well. Raises NotProven.
    """
    n = outcome.ranks
    if n > _MOST_RANKS or None in outcome.gloo_samples or not outcome.gloo_samples:
        return
    silent: list[tuple[int, int, int]] = []
    for rank in reversed(range(n)):  # the one that may send none is rank 0 mostly
        if not rank and not silent:
            return
        samples = outcome.gloo_samples[rank] or {}
        own = [np.ravel(array) for array in arrays[rank]]
        needed = sum(_NUM_BYTES_PER_NUMBER * len(array) * _telling_share(array) for array in own)
        sums = [*_sums(arrays, rank)]
        if other_order is not None:
            sums += [each[other_order] for each in sums]
        num_bytes = _num_bytes_holding(samples, operations, sums, needed)
        if num_bytes < needed:
            silent.append((rank, round(num_bytes), round(needed)))
    if len(silent) > 1:
        (rank, num_bytes, needed), (other, *_) = silent[:2]
        raise NotProven.of(
            "evidence.contributions_not_sent",
            f"samples of the sent data show that ranks {rank} and {other} sent too little "
            f"of their gradients, alone or in sums. Rank {rank} sent {num_bytes} bytes of "
            f"them; at least {needed} are needed. The result might not come from the sent "
            "data; your instructor reviews this part",
            ranks=[rank for rank, *_ in silent],
        )


def _sums(arrays: Sequence[Sequence[Values]], rank: int) -> Iterator[Values]:
    """Yield the sums of a rank's arrays and those of others, but never of all ranks."""
    others = [other for other in range(len(arrays)) if other != rank]
    for number in range(max(len(others), 1)):
        for chosen in combinations(others, number):
            for contributed in zip(*(arrays[each] for each in (rank, *chosen)), strict=False):
                yield np.sum([np.ravel(array) for array in contributed], axis=0, dtype="f8")


def _num_bytes_holding(
    samples: Mapping[str, GlooSamples],
    operations: Collection[str],
    sums: Sequence[Values],
    needed: float,
) -> float:
    """Return how many bytes hold pieces of the sums; not how many more than are needed."""
    num_bytes = 0.0
    for name, each in samples.items():
        if (not operations or name in operations) and num_bytes < needed:
            enough = (needed - num_bytes) / max(each.num_bytes, 1) + _ROUNDING
            num_bytes += each.num_bytes * _largest_share_found(each.taken, sums, enough)
    return num_bytes


def _largest_share_found(taken: Values, sums: Sequence[Values], enough: float) -> float:
    """Return which share of samples are windows of the sums, read as the likeliest type."""
    largest = 0.0
    for numbers in _readings(taken):
        found = _num_found(numbers, sums, enough * len(taken))
        largest = max(largest, found / len(taken))
        if largest >= min(_CLEAR_SHARE, enough):
            break
    return largest


def _readings(taken: Values) -> Iterator[Values]:
    """Yield bytes as numbers of each type that gradients are sent in, wherever these begin.

    Among the bytes of an object they begin anywhere, and floats of Python are wide apart.
    """
    for dtype in ("<f4", "<f8", "<f2"):
        yield _words(taken, np.dtype(dtype).itemsize).view(dtype)
    yield (_words(taken, 2).view("<u2").astype("<u4") << 16).view("<f4")
    pickled = _words(taken, 9).reshape(-1, 6, 9)
    floats = pickled[(pickled[:, :, 0] == _BINFLOAT).all(axis=1)][:, :, 1:]
    yield np.ascontiguousarray(floats).view(">f8")[:, :, 0]


def _words(taken: Values, size: int) -> Values:
    """Return samples as bytes of words of this size, for each byte where the first may begin."""
    num_bytes = (taken.shape[1] - size + 1) // size * size
    words = np.lib.stride_tricks.sliding_window_view(taken, num_bytes, axis=1)[:, :size]
    return np.ascontiguousarray(words).reshape(-1, num_bytes)


def _num_found(samples: Values, sums: Iterable[Values], enough: float) -> int:
    """Return how many of the samples are windows of the sums, as far as it is enough."""
    length = samples.shape[1]
    least = _LEAST_COSINE_OF_FEW if length <= _FEW_NUMBERS else _LEAST_COSINE
    telling = left = _directions(samples)
    for numbers in sums:
        if not len(left) or len(telling) - len(left) >= enough:
            break
        for windows in _windows(numbers, length):
            known = _directions(windows)
            nearest = np.max(np.abs(left @ known.T), axis=1, initial=0.0)
            left = left[nearest < least]
    return len(telling) - len(left)


def _telling_share(numbers: Values) -> float:
    length = min(2 * _FEW_NUMBERS, len(numbers))
    num_telling = sum(len(_directions(windows)) for windows in _windows(numbers, length))
    return num_telling / max(len(numbers) - length + 1, 1)


def _windows(numbers: Values, length: int) -> Iterator[Values]:
    """Yield the windows of an array, as many at once as a cache holds."""
    if len(numbers) >= length:
        windows = np.lib.stride_tricks.sliding_window_view(numbers, length)
        yield from (windows[at : at + _AT_ONCE] for at in range(0, len(windows), _AT_ONCE))


def _directions(windows: Values) -> NDArray[np.float32]:
    """Return windows without their mean, of length 1; those that tell nothing are left out."""
    with np.errstate(all="ignore"):
        # A window is a column: numpy adds up long rows several times as fast as many short ones.
        columns = np.ascontiguousarray(windows.T, "f8")
        apart = columns - np.mean(columns, axis=0)
        length = np.linalg.norm(apart, axis=0)
        spread = np.abs(apart).sum(axis=0) / (length * np.sqrt(len(columns)))
        is_telling = (length > _ROUNDING * np.linalg.norm(columns, axis=0)) & np.isfinite(length)
        is_telling &= spread >= _LEAST_SPREAD
        return np.asarray(apart[:, is_telling] / length[is_telling], np.float32).T
