"""Frames between a rank and the judge: a JSON head, then the raw bytes of its arrays.

A frame is the length of the head (4 bytes, big-endian), the head (JSON: `kind`, `values`,
`arrays` as a list of name, dtype and shape), and the arrays' bytes in C order, one after the other.
"""

import json
import math
import socket
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

_HEAD_LENGTH = struct.Struct(">I")


def send(
    connection: socket.socket,
    kind: str,
    values: Mapping[str, Any] | None = None,
    arrays: Mapping[str, np.ndarray[Any, Any]] | None = None,
) -> None:
    """Write one frame; blocks until the judge has taken it."""
    arrays = arrays or {}
    told = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    head = json.dumps({"kind": kind, "values": dict(values or {}), "arrays": told}).encode()
    connection.sendall(_HEAD_LENGTH.pack(len(head)) + head)
    for array in arrays.values():
        connection.sendall(array.tobytes())


def receive(connection: socket.socket) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Read one frame; return its kind, its values and its arrays (writable, C-contiguous)."""
    (head_length,) = _HEAD_LENGTH.unpack(_read(connection, _HEAD_LENGTH.size))
    head = json.loads(_read(connection, head_length))
    arrays = {}
    for name, dtype, shape in head["arrays"]:
        num_bytes = np.dtype(dtype).itemsize * math.prod(shape)
        arrays[name] = np.frombuffer(_read(connection, num_bytes), dtype).reshape(shape).copy()
    return head["kind"], head["values"], arrays


def receive_descriptors(connection: socket.socket, number: int) -> list[int]:
    """Read the file descriptors that the judge passes before its first frame."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, number)
    if len(descriptors) != number:
        raise ConnectionError(f"expected {number} descriptors, got {len(descriptors)}")
    return descriptors


def _read(connection: socket.socket, num_bytes: int) -> bytearray:
    """Read exactly num_bytes; raise ConnectionError when the judge has gone away."""
    buffer = bytearray(num_bytes)
    view = memoryview(buffer)
    while len(view):
        received = connection.recv_into(view)
        if not received:
            raise ConnectionError("the judge closed the connection")
        view = view[received:]
    return buffer
