"""Keeps calls as records of numbers, and packs these: objects take far more memory and time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.trace.layout import RecordFlag

RECORD = np.dtype(
    [
        *(("sequence", "<i8"), ("function", "<u4"), ("peer", "<i4"), ("tag", "<i4")),
        *(("communicator", "<i8"), ("communicator_size", "<i4")),
        *(("num_elements", "<i8"), ("num_bytes", "<i8")),
        *(("entered_ns", "<i8"), ("left_ns", "<i8"), ("completed_ns", "<i8"), ("flags", "<u4")),
        *(("matched_source", "<i4"), ("matched_tag", "<i4"), ("received_num_bytes", "<i8")),
        *(("failed_polls", "<u4"), ("num_waits", "<u4"), ("phase", "<i4"), ("error", "<i4")),
        *(("file", "<u4"), ("line", "<i4"), ("place", "<u4"), ("made_by", "<u4")),
        *(("sampled_num_bytes", "<i8"), ("sample_first", "<i8")),
        *(("sample_middle", "<i8"), ("sample_last", "<i8")),
        ("first_wait", "<i8"),
    ]
)
"""A call as it is kept: the fields of Call in their order, with numbers for names, one for all that
is true or false, and where its waits begin. 164 bytes; fewer when packed."""

NAMES = ("function", "file", "made_by")
"""The fields that are numbers of names."""
BITS = {
    "is_send": RecordFlag.IS_SEND.value,
    "is_receive": RecordFlag.IS_RECEIVE.value,
    "creates_request": RecordFlag.CREATES_REQUEST.value,
    "request_freed": RecordFlag.REQUEST_FREED.value,
    "cancelled": RecordFlag.CANCELLED.value,
    "synchronous": RecordFlag.SYNCHRONOUS.value,
    "pickled": RecordFlag.PICKLED.value,
}
"""The fields of Call that are true or false, in their order, and what each is in `flags`."""


_FEWEST = 128
"""Fewer records than these would take no less when packed."""
_WIDTHS = tuple((np.dtype(name), np.iinfo(name).max) for name in ("u1", "<u2", "<u4"))
"""What numbers are stored as, and the greatest that each holds."""
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
        bases, fields, columns = {}, [], []
        for name in RECORD.names or ():
            column = self._stored[name].copy()  # side by side its ends are found in less time
            bases[name], kind, differ = _least_and_kind(column)
            if differ or name == _ALWAYS_THERE:
                fields.append((name, kind))
                columns.append(column)
        stored = np.empty(len(self), fields)
        for (name, _), column in zip(fields, columns, strict=True):
            stored[name] = column - column.dtype.type(bases[name])
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


def _least_and_kind(column: NDArray[Any]) -> tuple[int, np.dtype[Any], bool]:
    """Return the least number, what holds each one's distance from it, and whether there is any.

    Where distances take as much as the numbers these are kept: they are distances from 0.
    """
    least, most = int(column.min()), int(column.max())
    for kind, limit in _WIDTHS:
        if most - least <= limit and kind.itemsize < column.itemsize:
            return least, kind, most > least
    return 0, column.dtype, True


def _narrowed(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in as few bytes each as they all fit in."""
    if not len(numbers) or numbers.min() < 0:
        return numbers
    kinds = (kind for kind, limit in _WIDTHS if numbers.max() <= limit)
    return numbers.astype(next(kinds, numbers.dtype), copy=False)
