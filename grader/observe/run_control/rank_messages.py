"""The judge's end of the wire: every byte a rank sends is parsed as if a student had written it."""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.model.report import Array, Text

_HEAD_LENGTH = struct.Struct(">I")
_MAX_HEAD_NUM_BYTES = 1 << 20
SPARE_NUM_BYTES = 32 << 20
"""What a rank may send beyond the results asked for, to be told what is wrong with their form."""
_DTYPES = {
    np.dtype(name).str: np.dtype(name)
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
}


class ProtocolError(Exception):
    """A rank sent something that our harness never sends."""


@dataclass(frozen=True)
class Frame:
    """One message of a rank: `hello`, `ready`, `finished`, `result`, `problem`; or `closed`."""

    kind: str
    values: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray[Any, Any]]


CLOSED = Frame("closed", {}, {})


def broken(why: str) -> Frame:
    """Return what stands for a frame that could not be read."""
    return Frame("broken", {"message": why}, {})


_NOT_SAID = frozenset({"", "closed", "broken"})
"""Kinds of frames that no rank sends."""


def encode(
    kind: str, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]]
) -> list[bytes]:
    """Return the pieces of one frame for a rank, in the order in which they are to be written."""
    announced = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    head = json.dumps({"kind": kind, "values": values, "arrays": announced}).encode()
    return [_HEAD_LENGTH.pack(len(head)), head, *(array.tobytes() for array in arrays.values())]


def most_num_bytes(expected: Mapping[str, Array | Text]) -> int:
    """Return how many bytes the arrays of one rank have at most that are as announced.

    Of those whose lengths nobody knows beforehand, all together have what the largest may have:
    each for itself, a dozen of them would be more than the judge has memory for.
    """
    forms = [form for form in expected.values() if isinstance(form, Array)]
    unknown = [form.max_num_bytes for form in forms if None in form.shape]
    return sum(map(_num_bytes_of, forms)) + max(unknown, default=0)


def _num_bytes_of(form: Array) -> int:
    """Return how many bytes an array of this form has; nothing where that is not known."""
    known = [length for length in form.shape if length is not None]
    if len(known) < len(form.shape):
        return 0
    return min(form.max_num_bytes, np.dtype(form.dtype).itemsize * math.prod(known))


class FrameReader:
    """Turns the bytes of one rank into frames; holds no more than one frame's worth of them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: tuple[str, dict[str, Any], list[tuple[str, np.dtype[Any], tuple[int, ...]]]]
        self._needed = _HEAD_LENGTH.size
        self._state = "length"
        self.most_num_bytes = SPARE_NUM_BYTES
        """Of the arrays of one frame: all ranks together may not use up the judge's memory."""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes.

        Raises ProtocolError on a head or a payload that is malformed or too large.
        """
        self._buffer += data
        frames = []
        while len(self._buffer) >= self._needed:
            piece = bytes(self._buffer[: self._needed])
            del self._buffer[: self._needed]
            if self._state == "length":
                (self._needed,) = _HEAD_LENGTH.unpack(piece)
                if not 0 < self._needed <= _MAX_HEAD_NUM_BYTES:
                    raise ProtocolError(f"a frame head of {self._needed} bytes")
                self._state = "head"
            elif self._state == "head":
                self._head = _parse_head(piece)
                self._needed = sum(_num_bytes(dtype, shape) for _, dtype, shape in self._head[2])
                if self._needed > self.most_num_bytes:
                    most = self.most_num_bytes
                    raise ProtocolError(
                        f"arrays of {self._needed} bytes in total; at most {most} are allowed. "
                        "Check their lengths"
                    )
                self._state = "payload"
            else:
                frames.append(_frame(*self._head, piece))
                self._needed = _HEAD_LENGTH.size
                self._state = "length"
        return frames


def _num_bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    return dtype.itemsize * math.prod(shape)


def _parse_head(
    piece: bytes,
) -> tuple[str, dict[str, Any], list[tuple[str, np.dtype[Any], tuple[int, ...]]]]:
    try:
        head = json.loads(piece)
        kind, values = head["kind"], head["values"]
        arrays = [(name, _DTYPES[dtype], tuple(shape)) for name, dtype, shape in head["arrays"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProtocolError(f"an unreadable frame head ({type(error).__name__})") from None
    lengths = [length for _, _, shape in arrays for length in shape]
    if not (
        isinstance(kind, str)
        and kind not in _NOT_SAID
        and isinstance(values, dict)
        and all(isinstance(name, str) for name, _, _ in arrays)
        and all(type(length) is int and 0 <= length < 1 << 40 for length in lengths)
        and all(len(shape) <= 32 for _, _, shape in arrays)
        and len(arrays) <= 1000
    ):
        raise ProtocolError("a frame head with a field of the wrong type")
    # One length of 0 makes an array empty, but numpy multiplies the others all the same.
    if any(math.prod(filter(None, shape)) >= 1 << 40 for _, _, shape in arrays):
        raise ProtocolError("a frame head with an array that is too large")
    return kind, values, arrays


def _frame(
    kind: str,
    values: dict[str, Any],
    announced: list[tuple[str, np.dtype[Any], tuple[int, ...]]],
    payload: bytes,
) -> Frame:
    arrays = {}
    offset = 0
    for name, dtype, shape in announced:
        count = math.prod(shape)
        arrays[name] = np.frombuffer(payload, dtype, count, offset).reshape(shape)
        offset += _num_bytes(dtype, shape)
    return Frame(kind, values, arrays)
