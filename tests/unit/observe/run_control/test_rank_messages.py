"""The judge's end of the wire: everything a rank sends is hostile until parsed."""

import contextlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model.report import Array, Text
from grader.observe.run_control.rank_messages import (
    SPARE_NUM_BYTES,
    FrameReader,
    ProtocolError,
    encode,
    most_num_bytes,
)


def bytes_of(head: object, payload: bytes = b"") -> bytes:
    text = json.dumps(head).encode()
    return struct.pack(">I", len(text)) + text + payload


def test_what_is_encoded_is_read_back_in_any_pieces():
    """Frames arrive cut anywhere."""
    arrays = {"a": np.arange(6, dtype="<f8").reshape(2, 3), "b": np.zeros((0, 4), "<i8")}
    data = b"".join(encode("result", {"x": [1, None]}, arrays)) * 2
    for size in (1, 3, 7, len(data)):
        reader, frames = FrameReader(), []
        for start in range(0, len(data), size):
            frames += reader.feed(data[start : start + size])
        assert [frame.kind for frame in frames] == ["result", "result"]
        for frame in frames:
            assert frame.values == {"x": [1, None]}
            assert all(np.array_equal(frame.arrays[name], arrays[name]) for name in arrays)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">I", 0),
        struct.pack(">I", 1 << 30),
        struct.pack(">I", 3) + b"\xff\xfe\xfd",
        struct.pack(">I", 100_000) + b"[" * 100_000,
        bytes_of([]),
        bytes_of({"kind": "result"}),
        bytes_of({"kind": 3, "values": {}, "arrays": []}),
        bytes_of({"kind": "closed", "values": {}, "arrays": []}),
        bytes_of({"kind": "broken", "values": {"message": "not so"}, "arrays": []}),
        bytes_of({"kind": "result", "values": [], "arrays": []}),
        bytes_of({"kind": "result", "values": {}, "arrays": [["a", "O", [1]]]}),
        bytes_of({"kind": "result", "values": {}, "arrays": [["a", "<f8", [-1]]]}),
        bytes_of({"kind": "result", "values": {}, "arrays": [["a", "<f8", [1.5]]]}),
        bytes_of({"kind": "result", "values": {}, "arrays": [["a", "<f8", [True]]]}),
        bytes_of({"kind": "result", "values": {}, "arrays": [["a", "<f8", [1 << 39]]]}),
        bytes_of({"kind": "result", "values": {}, "arrays": [["a", "<f8", [1] * 100]]}),
        bytes_of({"kind": "result", "values": {}, "arrays": [["a", "<f8", [0, 1 << 39, 1 << 39]]]}),
        bytes_of({"kind": "result", "values": {}, "arrays": [["a", "<f8"]]}),
        bytes_of({"kind": "result", "values": {}, "arrays": [[3, "<f8", [1]]]}),
    ],
)
def test_malformed_frames_are_refused(data):
    """Nothing is guessed, allocated or unpickled."""
    with pytest.raises(ProtocolError):
        FrameReader().feed(data)


def test_no_more_is_held_than_is_asked_for():
    """Ranks that send what they like could together use up the memory of the judge."""
    form = {"a": Array("float64", (3, 4)), "b": Array("uint8", (None,)), "c": Text()}
    asked = most_num_bytes(form)
    assert asked == 8 * 3 * 4 + form["b"].max_num_bytes
    more = {str(number): Array("int64", (2, None)) for number in range(12)}
    assert most_num_bytes(form | more) == asked
    assert most_num_bytes({"a": form["a"]}) == 8 * 3 * 4
    for num_bytes in (asked + SPARE_NUM_BYTES, asked + SPARE_NUM_BYTES + 1):
        reader = FrameReader()
        reader.most_num_bytes = asked + SPARE_NUM_BYTES
        head = {"kind": "result", "values": {}, "arrays": [["a", "|u1", [num_bytes]]]}
        is_too_much = num_bytes > reader.most_num_bytes
        told = f"arrays of {num_bytes} bytes in total; at most {reader.most_num_bytes} are"
        refused = pytest.raises(ProtocolError, match=told)
        with refused if is_too_much else contextlib.nullcontext():
            assert reader.feed(bytes_of(head)) == []


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_garbage_never_crashes_the_judge(data):
    """Any bytes give frames or a ProtocolError."""
    with contextlib.suppress(ProtocolError):
        FrameReader().feed(data)
