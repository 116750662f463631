"""Of what a step, or an average, was made: which sum of known vectors it is, array by array."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.oracles import unpacked

from . import lenet
from .differences import DEVIATION, misfits

_TOLERANCE = 0.05
"""How far the parts of a sum may be off: they are told less well than the sum itself."""
_ENOUGH_FOR_A_FIT = ("fc1.weight", "fc2.weight")
"""Arrays that hold most numbers: what is not in all arrays is looked for in one of these."""


@dataclass(frozen=True)
class Sum:
    """A vector as a sum: how much of each column is in it."""

    parts: tuple[float, ...]
    misfits: tuple[str, ...]
    """The arrays for which this does not hold."""


def as_sum(
    target: lenet.Vector, columns: Sequence[lenet.Vector], noise: lenet.Vector | float
) -> Sum:
    """Return the sum of the columns that leaves the fewest arrays of the target unexplained.

    All are packed. noise: how far rounding alone may take each number of the target off.
    """
    found = []
    for names in (tuple(lenet.SHAPES), *((name,) for name in _ENOUGH_FOR_A_FIT)):
        parts = _least_squares(_only(target, names), [_only(each, names) for each in columns])
        made = _combined(columns, parts)
        found.append(Sum(parts, misfits(target, made, noise)))
        if not found[-1].misfits:
            break
    return min(found, key=lambda each: len(each.misfits))


def fixed_sum(
    target: lenet.Vector,
    columns: Sequence[lenet.Vector],
    parts: Sequence[float],
    noise: lenet.Vector | float,
) -> Sum:
    """Return the sum with these parts, and the arrays for which it does not hold."""
    return Sum(tuple(parts), misfits(target, _combined(columns, parts), noise))


@dataclass(frozen=True)
class Mixture:
    """How much of each rank's gradient, or model, is in something, and what else."""

    shares: Mapping[int, float]
    others: tuple[float, ...] = ()
    """Of a step: how much of the step before, and of the one before that."""
    misfits: tuple[str, ...] = ()
    """The arrays for which this does not hold."""

    @property
    def holds(self) -> bool:
        """Return whether this is right for most arrays."""
        return len(self.misfits) <= len(lenet.SHAPES) // 2

    @property
    def present(self) -> frozenset[int]:
        """Return the ranks of which something is in it."""
        largest = max(map(abs, self.shares.values()), default=0.0)
        return frozenset(
            rank for rank, share in self.shares.items() if abs(share) > _TOLERANCE * largest
        )

    @property
    def is_even(self) -> bool:
        """Return whether it has as much of each rank as of any other."""
        values = list(self.shares.values())
        return max(values) - min(values) <= _TOLERANCE * abs(float(np.mean(values)))

    def counts_each(self, share: float) -> bool:
        """Return whether everything in it counts so much; an even sum is told precisely."""
        off = DEVIATION * share if self.is_even else _TOLERANCE * max(share, 0.2)
        return all(abs(self.shares[rank] - share) <= off for rank in self.present)


def near(found: float, expected: float) -> bool:
    """Return whether a part of a sum is as expected."""
    return abs(found - expected) <= _TOLERANCE * max(abs(expected), 0.2)


def mixture(
    target: lenet.Vector,
    own: Mapping[int, lenet.Vector],
    noise: lenet.Vector | float,
    *,
    others: Sequence[lenet.Vector] = (),
    kinds: Sequence[Sequence[float]] = ((),),
    rank: int | None = None,
) -> Mixture | None:
    """Return of which ranks' vectors the target is made, or None where it is of none of them.

    own: by rank. others: what else may be in it; kinds: how much of these, the usual one first.
    rank: whose the target is; it may be made of this one's alone. The plainest explanation wins:
    the mean of all, as much of each, one alone, any sum; then any sum with anything else.
    """
    plain = plain_mixture(target, own, noise, others, kinds[0])
    if plain is not None:
        return plain
    best: Mixture | None = None
    for made in _explanations(target, own, noise, others, kinds, rank):
        if best is None or len(made.misfits) < len(best.misfits):
            best = made
        if not made.misfits:
            break
    return best if best is not None and best.holds else None


def plain_mixture(
    target: lenet.Vector,
    own: Mapping[int, lenet.Vector],
    noise: lenet.Vector | float,
    others: Sequence[lenet.Vector],
    kind: Sequence[float],
) -> Mixture | None:
    """Return that the target is the mean of all, with so much of the others, or None."""
    mean = np.mean(list(own.values()), axis=0)
    known = tuple(kind[: len(others)])
    found = fixed_sum(target, [mean, *others], [1, *known], noise)
    plain = Mixture(dict.fromkeys(own, 1 / len(own)), known, found.misfits)
    return plain if plain.holds else None


def _explanations(
    target: lenet.Vector,
    own: Mapping[int, lenet.Vector],
    noise: lenet.Vector | float,
    others: Sequence[lenet.Vector],
    kinds: Sequence[Sequence[float]],
    rank: int | None,
) -> Iterator[Mixture]:
    mean = np.mean(list(own.values()), axis=0)
    known = list(dict.fromkeys(tuple(kind[: len(others)]) for kind in kinds))
    ways = [({each: 1 / len(own) for each in own}, mean)]
    if rank is not None and rank in own:
        ways.append(({rank: 1.0}, own[rank]))
    for unit, column in ways:
        for kind in known:
            (part,) = as_sum(target - _combined(others, kind), [column], noise).parts
            found = fixed_sum(target, [column, *others], [part, *kind], noise)
            yield Mixture({each: part * unit.get(each, 0.0) for each in own}, kind, found.misfits)
    every = list(own.values())
    for kind in known:
        parts = as_sum(target - _combined(others, kind), every, noise).parts
        found = fixed_sum(target, [*every, *others], [*parts, *kind], noise)
        yield Mixture(dict(zip(own, parts, strict=True)), kind, found.misfits)
    if others:
        free = as_sum(target, [*every, *others], noise)
        shares = dict(zip(own, free.parts, strict=False))
        yield Mixture(shares, free.parts[len(own) :], free.misfits)


def _combined(columns: Sequence[lenet.Vector], parts: Sequence[float]) -> lenet.Vector:
    total: lenet.Vector = np.zeros(lenet.NUM_PARAMETERS)
    for part, each in zip(parts, columns, strict=True):
        total = total + part * each
    return total


def _only(vector: lenet.Vector, names: Sequence[str]) -> lenet.Vector:
    if len(names) == len(lenet.SHAPES):
        return vector
    arrays = unpacked(vector, lenet.SHAPES)
    return np.concatenate([arrays[name].ravel() for name in names])


def _least_squares(target: lenet.Vector, columns: Sequence[lenet.Vector]) -> tuple[float, ...]:
    """Return the parts of the columns in the target; equal columns share what they have in it."""
    rows = np.stack(columns).astype(np.float64)
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-30)
    rows /= lengths[:, None]
    parts, *_ = np.linalg.lstsq(rows @ rows.T, rows @ target, rcond=1e-10)
    return tuple(map(float, parts / lengths))
