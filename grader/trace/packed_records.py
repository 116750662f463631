"""Keeps records of calls in few bytes: numbers that are close to each other need few."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.trace.call_record import RECORD

_FEWEST = 128
"""Fewer records than these would take no less when packed."""
_WIDTHS = tuple(np.dtype(name) for name in ("u1", "<u2", "<u4"))
_ALWAYS_THERE = "sequence"


class Records:
    """Records of one rank's calls. Packed, a field is stored as what it is more than its least.

    A field that is the same in all records is not stored at all.
    """

    __slots__ = ("_bases", "_stored")

    def __init__(self, stored: NDArray[Any], bases: Mapping[str, int] | None = None) -> None:
        """stored: of RECORD. With bases, of the fields that differ; to which those are added."""
        self._stored, self._bases = stored, bases

    def column(self, name: str) -> NDArray[Any]:
        """Return one field of all records, whole numbers of some width."""
        if self._bases is None:
            return self._stored[name]
        base = self._bases[name]
        if name not in (self._stored.dtype.names or ()):
            return np.full(len(self), base, "<i8")
        offsets = self._stored[name].astype("<i8")
        offsets += base
        return offsets

    def take(self, indices: NDArray[np.intp]) -> "Records":
        """Return these records, as a copy."""
        return Records(self._stored.take(indices), self._bases)

    def __getitem__(self, index: slice) -> "Records":
        return Records(self._stored[index], self._bases)

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def num_bytes(self) -> int:
        """Return what they take of memory."""
        return self._stored.nbytes

    def unpacked(self) -> NDArray[Any]:
        """Return them as an array of RECORD, which may be their own."""
        if self._bases is None:
            return self._stored
        whole = np.empty(len(self), RECORD)
        for name in self._bases:
            whole[name] = self.column(name)
        return whole

    def with_columns(self, columns: Mapping[str, NDArray[Any]]) -> "Records":
        """Return them with other values of these fields."""
        whole = np.array(self.unpacked())
        for name, column in columns.items():
            whole[name] = column
        return Records(whole)

    def packed(self) -> "Records":
        """Return the same records in less memory; these where they are packed, or few."""
        if self._bases is not None or len(self) < _FEWEST:
            return self
        bases, fields = {}, []
        for name in RECORD.names or ():
            kind = RECORD[name]
            column = self._stored[name].copy()  # side by side its ends are found in less time
            least, most = int(column.min()), int(column.max())
            narrower = [each for each in _WIDTHS if each.itemsize < kind.itemsize]
            fitting = [each for each in narrower if most - least <= np.iinfo(each).max]
            bases[name] = least if fitting else 0
            if most > least or name == _ALWAYS_THERE:
                fields.append((name, fitting[0] if fitting else kind, column))
        stored = np.empty(len(self), [(name, kind) for name, kind, _ in fields])
        for name, kind, column in fields:
            stored[name] = (column - column.dtype.type(bases[name])).astype(kind, copy=False)
        return Records(stored, bases)


def compacted(records: Records, waits: NDArray[np.int64]) -> tuple[Records, NDArray[Any]]:
    """Return both in no more memory than they need: waits that no record has are left out.

    Records that need no less are returned themselves, and their waits.
    """
    number = records.column("num_waits").astype("<i8")
    packed = records
    if number.sum() != len(waits):
        first = np.cumsum(number) - number
        shift = np.repeat(records.column("first_wait") - first, number)
        waits = waits[shift + np.arange(len(shift))]
        packed = records.with_columns({"first_wait": first})
    packed = packed.packed()
    return packed, waits if packed is records else _narrowed(waits)


def _narrowed(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in as few bytes each as they all fit in."""
    if not len(numbers) or numbers.min() < 0:
        return numbers
    kinds = (each for each in _WIDTHS if numbers.max() <= np.iinfo(each).max)
    return numbers.astype(next(kinds, numbers.dtype), copy=False)
