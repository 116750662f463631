"""An observation as bytes and back: a head of JSON, then its arrays, each stored once.

Bytes are read as a student's are: nothing is believed or unpickled, and everything has a bound.
"""

import hashlib
import json
import math
import struct
import zlib
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from grader.model.errors import GraderError
from grader.recording.observation import LaunchObservation
from grader.trace.calls import Calls
from grader.trace.packed_records import NAMES, RECORD

_HEAD_LENGTH = struct.Struct(">I")
_MAX_HEAD_NUM_BYTES = 32 << 20
_MAX_NUM_BYTES = 2 << 30
"""Of all arrays of an observation, unpacked."""
_WORTH_PACKING = 0.5
_SAMPLE_NUM_BYTES = 1 << 12
"""Arrays that packing leaves longer than that share, as far as their beginning tells, are stored as
they are: to pack random numbers takes longer than to write them."""
_MAX_AXES = 32
_DTYPES = {
    np.dtype(name).str: np.dtype(name)
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
}
"""Those that a rank may send."""


class UnreadableRecording(GraderError):
    """What should be a recording is none, or is damaged."""


def encode(observed: LaunchObservation) -> bytes:
    """Return an observation as bytes."""
    blobs = _Blobs()
    head = msgspec.to_builtins(observed, enc_hook=blobs.described)
    text = json.dumps({"observed": head, "blobs": blobs.lengths}, separators=(",", ":")).encode()
    return b"".join([_HEAD_LENGTH.pack(len(text)), text, *blobs.stored])


def decode(data: bytes) -> LaunchObservation:
    """Return what encode was given. Raises UnreadableRecording for what it never writes."""
    try:
        return _decode(data)
    except (LookupError, OverflowError, RecursionError, TypeError, ValueError, zlib.error) as error:
        raise UnreadableRecording(f"a recorded launch cannot be read ({error})") from None


def pieces(encoded: bytes) -> list[bytes]:
    """Return an encoded observation in pieces: its head, and each array as it is stored."""
    (head_length,) = _HEAD_LENGTH.unpack_from(encoded)
    start = _HEAD_LENGTH.size + head_length
    found = [encoded[:start]]
    for stored, _ in json.loads(encoded[_HEAD_LENGTH.size : start])["blobs"]:
        found.append(encoded[start : start + stored])
        start += stored
    return found


class _Blobs:
    """The arrays of an observation, equal ones once."""

    def __init__(self) -> None:
        self.stored: list[bytes] = []
        self.lengths: list[tuple[int, int]] = []
        """Of each, as stored and as it is; it is packed where these differ."""
        self._numbers: dict[bytes, int] = {}

    def described(self, value: object) -> object:
        """Return what stands for an array, or for the calls of a rank, in the head."""
        if isinstance(value, np.ndarray):
            kind, shape = value.dtype.str, list(value.shape)
            return {"dtype": kind, "shape": shape, "blob": self._kept(value.tobytes())}
        if isinstance(value, Calls):
            records, names, waits = value.whole()
            return {
                "names": names,
                "records": self._kept(records.tobytes()),
                "waits": self._kept(waits.astype("<i8").tobytes()),
            }
        raise NotImplementedError

    def _kept(self, content: bytes) -> int:
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if digest not in self._numbers:
            self.stored.append(_packed(content))
            self.lengths.append((len(self.stored[-1]), len(content)))
            self._numbers[digest] = len(self.stored) - 1
        return self._numbers[digest]


def _packed(content: bytes) -> bytes:
    """Return the content in fewer bytes, or itself: most arrays of numbers do not get shorter."""
    sample = content[:_SAMPLE_NUM_BYTES]
    if len(zlib.compress(sample, 1)) >= _WORTH_PACKING * len(sample):
        return content
    packed = zlib.compress(content, 1)
    return packed if len(packed) < len(content) else content


def _decode(data: bytes) -> LaunchObservation:
    (head_length,) = _HEAD_LENGTH.unpack_from(data.ljust(_HEAD_LENGTH.size, b"\0"))
    if not 0 < head_length <= min(_MAX_HEAD_NUM_BYTES, len(data)):
        raise ValueError(f"a head of {head_length} bytes")
    start = _HEAD_LENGTH.size + head_length
    head = json.loads(data[_HEAD_LENGTH.size : start])
    lengths = msgspec.convert(head["blobs"], list[tuple[int, int]])
    if any(not 0 <= stored <= whole for stored, whole in lengths):
        raise ValueError("an array with an impossible length")
    if sum(stored for stored, _ in lengths) != len(data) - start:
        raise ValueError("too few or too many arrays")
    if sum(whole for _, whole in lengths) > _MAX_NUM_BYTES:
        raise ValueError(f"more than {_MAX_NUM_BYTES} bytes of arrays")
    blobs = []
    for stored, whole in lengths:
        blobs.append(_unpacked(data[start : start + stored], whole))
        start += stored

    known: dict[tuple[int, int, tuple[str, ...]], Calls] = {}

    def made(kind: Any, described: Any) -> Any:
        if kind is not Calls:
            return _array(described, blobs)
        names = msgspec.convert(described["names"], tuple[str, ...])
        records, waits = described["records"], described["waits"]
        # However often a head refers to the same bytes, they are looked at once.
        if (records, waits, names) not in known:
            known[records, waits, names] = _calls(blobs[records], names, blobs[waits])
        return known[records, waits, names]

    return msgspec.convert(head["observed"], LaunchObservation, dec_hook=made)


def _unpacked(stored: bytes, num_bytes: int) -> bytes:
    if len(stored) == num_bytes:
        return stored
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(stored, num_bytes)
    if len(content) != num_bytes or not unpacking.eof:
        raise ValueError("a packed array that does not have the stated length")
    return content


def _array(described: Any, blobs: list[bytes]) -> NDArray[Any]:
    dtype, shape = _DTYPES[described["dtype"]], msgspec.convert(described["shape"], list[int])
    content = blobs[described["blob"]]
    if len(shape) > _MAX_AXES or min(shape, default=0) < 0:
        raise ValueError(f"an array of shape {shape[:_MAX_AXES]}")
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"an array of {len(content)} bytes with the stated shape {shape}")
    return np.frombuffer(content, dtype).reshape(shape)


def _calls(content: bytes, names: tuple[str, ...], waits: bytes) -> Calls:
    """Return the calls of a rank. Raises ValueError for those that no trace holds."""
    records = np.frombuffer(content, RECORD)
    numbers = np.frombuffer(waits, "<i8")
    if any(records[name].max(initial=0) >= max(len(names), 1) for name in NAMES):
        raise ValueError("a call without a name")
    if len(records) and not names:
        raise ValueError("calls without names")
    if not all(name.isprintable() for name in names):
        raise ValueError("a name that cannot be printed")
    num_waits = records["num_waits"].astype("<i8")
    ends = np.cumsum(num_waits)
    if (ends[-1] if len(ends) else 0) != len(numbers):
        raise ValueError("requests that no call waits for")
    if (records["first_wait"] != ends - num_waits).any():
        raise ValueError("a call that waits for another call's requests")
    return Calls.of_whole(records, names, numbers)
