"""What travels between processes: only whole submission_codec of plain files are taken."""

import json
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake import submission_codec
from grader.intake.submission_codec import BrokenMessageError, SubmissionMessage, pack, unpack


def message(said: object = None, sizes: object = None, contents: bytes = b"") -> bytes:
    """Return a message as anybody may pack it."""
    head = json.dumps({"said": said or {}, "sizes": sizes or {}}).encode()
    return struct.pack(">Q", len(head)) + head + contents


def test_all_of_a_parcel_arrives():
    """Files, when they were written, what was not read, notes."""
    sent = SubmissionMessage(
        {"b/ä.py": b"1", "a.py": b""}, {"c.lnk": "is a link"}, {"a.py": 1 << 32}, ("one", "two")
    )
    assert unpack(b"".join(pack(sent))) == sent
    assert unpack(b"".join(pack(replace(sent, folders=("b", "output"))))).folders == ("b", "output")
    refused = SubmissionMessage(refusal="it is empty")
    assert unpack(b"".join(pack(refused))) == refused


def test_texts_are_made_plain_before_they_are_sent():
    """What steers a terminal, turns text round or is no text at all."""
    sent = SubmissionMessage(notes=("a\x1b[31m\n\u202e\udcff",), failure="x" * 9000)
    arrived = unpack(b"".join(pack(sent)))
    assert arrived.notes == ("a\\x1b[31m\\n\\u202e\\udcff",)
    assert arrived.failure == "x" * 4096


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../a.py",
        "a/../../b.py",
        "./a.py",
        "a//b.py",
        "a/",
        "",
        "a\\b.py",
        "a\nb.py",
        "a\x1b[31m.py",
        "a\u202eyp.b",
        "a\udcff.py",
        "a\0b",
        "x" * 256,
        "/".join("a" * 33),
        "/".join(["x" * 250] * 5),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name):
    """Only plain relative names, even from our own process."""
    with pytest.raises(BrokenMessageError, match="the invalid file name"):
        unpack(message(sizes={name: 1}, contents=b"1"))
    with pytest.raises(BrokenMessageError, match="the invalid file name"):
        unpack(message({"folders": [name]}))


@pytest.mark.parametrize(
    ("said", "sizes"),
    [
        ({"folders": ["a", "a"]}, {}),
        ({"folders": ["a.py/b"]}, {"a.py": 0}),
        ({"folders": ["a.py"]}, {"a.py": 0}),
        ({"folders": [str(number) for number in range(101)]}, {}),
    ],
)
def test_folders_that_cannot_be_are_refused(said, sizes):
    """Twice, below or in place of a file, or too many."""
    with pytest.raises(BrokenMessageError):
        unpack(message(said, sizes))


WHOLE = message(sizes={"a": 1}, contents=b"1")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no message"),
        (struct.pack(">Q", 1 << 63) + b"a", "a head of"),
        (struct.pack(">Q", 2) + b"[]", "no message"),
        (struct.pack(">Q", 99_999) + b"[" * 99_999, r"no message \(RecursionError\)"),
        (WHOLE[:-1], "which do not match the sizes of its files"),
        (WHOLE + b"more", "which do not match the sizes of its files"),
        (message(sizes={"a": -1, "b": 1}), "which do not match the sizes of its files"),
        (message(sizes={"a": 1 << 70}), "which do not match the sizes of its files"),
        (message(sizes={"a": "1"}), "no message"),
        (message(sizes={"a": 0, "a/b": 0}), "'a/b' below another file"),
        (message({"times": {"a": 1}}), "the time of a missing file"),
        (message({"times": {"a": -1}}, {"a": 0}), "an impossible time"),
        (message({"times": {"a": 10**13}}, {"a": 0}), "an impossible time"),
        (message({"times": {"a": 0.5}}, {"a": 0}), "no message"),
        (message({"not_read": {"\x1b": "1"}}), "cannot be printed"),
        (message({"not_read": {"a": "\x1b"}}), "cannot be printed"),
        (message({"not_read": {"a": "\udcff"}}), "cannot be printed"),
        (message({"notes": ["\x1b"]}), "cannot be printed"),
        (message({"notes": ["x" * 4097]}), "cannot be printed"),
        (message({"notes": ["x"] * 201}), "at most 200"),
        (message({"notes": [1]}), "no message"),
        (message({"refusal": "\n"}), "cannot be printed"),
    ],
)
def test_what_no_sender_packs_is_refused(data, reason):
    """Cut, too long, of other types, below another file, or beyond a limit."""
    with pytest.raises(BrokenMessageError, match=reason):
        unpack(data)


def test_too_much_is_refused(monkeypatch):
    """In number and in bytes."""
    monkeypatch.setattr(submission_codec, "MAX_NOT_READ", 1)
    with pytest.raises(BrokenMessageError, match="at most 1"):
        unpack(message({"not_read": {"a": "1", "b": "1"}}))
    monkeypatch.setattr(submission_codec, "MAX_FILES", 2)
    monkeypatch.setattr(submission_codec, "MAX_TOTAL_NUM_BYTES", 10)
    with pytest.raises(BrokenMessageError, match="at most 2"):
        unpack(message(sizes={"a": 0, "b": 0, "c": 0}))
    with pytest.raises(BrokenMessageError, match="exceed the size limit"):
        unpack(message(sizes={"a": 6, "b": 6}, contents=bytes(12)))


@given(st.integers(0, 5000), st.binary(min_size=1, max_size=8))
def test_a_damaged_parcel_never_escapes(place, damage):
    """Overwritten anywhere, a message is still only plain files or refused."""
    data = bytearray(
        b"".join(pack(SubmissionMessage({"a.py": b"1" * 70, "b/c.py": b"2"}, notes=("n",))))
    )
    place %= len(data)
    data[place : place + len(damage)] = damage[: len(data) - place]
    try:
        found = unpack(bytes(data))
    except BrokenMessageError:
        return
    for name in found.files:
        assert not name.startswith("/")
        assert ".." not in name.split("/")
