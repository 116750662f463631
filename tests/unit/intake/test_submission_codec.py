"""What travels between processes: only whole submission_codec of plain files are taken."""

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake import submission_codec
from grader.intake.submission_codec import BrokenMessageError, SubmissionMessage, pack, unpack

END = struct.pack(">cHQ", b"e", 0, 0)


def record(kind: bytes, name: bytes = b"", content: bytes = b"") -> bytes:
    return struct.pack(">cHQ", kind, len(name), len(content)) + name + content


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
        b"/etc/passwd",
        b"../a.py",
        b"a/../../b.py",
        b"./a.py",
        b"a//b.py",
        b"a/",
        b"",
        b"a\\b.py",
        b"a\nb.py",
        b"a\x1b[31m.py",
        "a\u202eyp.b".encode(),
        b"a\xff.py",
        b"a\0b",
        b"x" * 256,
        b"/".join([b"a"] * 33),
        b"/".join([b"x" * 250] * 5),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name):
    """Only plain relative names, even from our own process."""
    with pytest.raises(BrokenMessageError, match="the name"):
        unpack(record(b"f", name, b"1") + END)
    with pytest.raises(BrokenMessageError, match="the name"):
        unpack(record(b"d", name) + END)


@pytest.mark.parametrize(
    "records",
    [
        record(b"d", b"a", b"content"),
        record(b"d", b"a") * 2,
        record(b"d", b"a.py/b") + record(b"f", b"a.py"),
        record(b"d", b"a.py") + record(b"f", b"a.py"),
        b"".join(record(b"d", b"%d" % number) for number in range(101)),
    ],
)
def test_folders_that_cannot_be_are_refused(records):
    """With a content, twice, below or in place of a file, or too many."""
    with pytest.raises(BrokenMessageError):
        unpack(records + END)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "0 bytes without an end"),
        (record(b"f", b"a", b"1"), "without an end"),
        (record(b"f", b"a", b"1")[:-1] + END, "without an end"),
        (struct.pack(">cHQ", b"f", 1, 1 << 63) + b"a", "without an end"),
        (END + b"more", "something after its end"),
        (record(b"e", b"x"), "something after its end"),
        (record(b"?") + END, r"of kind b'\?'"),
        (record(b"f", b"a") * 2 + END, "'a' twice"),
        (record(b"f", b"a") + record(b"f", b"a/b") + END, "'a/b' below another file"),
        (record(b"f", b"a/b") + record(b"f", b"a") + END, "'a/b' below another file"),
        (record(b"w", b"a", b"1") + END, "kind b'w'"),
        (record(b"t", b"a", b"1") + END, "kind b't'"),
        (record(b"f", b"a") + record(b"t", b"a", b"-1") + END, "not a number"),
        (record(b"f", b"a") + record(b"t", b"a", b"") + END, "not a number"),
        (record(b"f", b"a") + record(b"t", b"a", b"9" * 13) + END, "not a number"),
        (record(b"f", b"a") + record(b"t", b"a", "²".encode()) + END, "not a number"),
        (record(b"u", b"\x1b", b"1") + END, "cannot be shown"),
        (record(b"u", b"a", b"\x1b") + END, "cannot be shown"),
        (record(b"u", b"a", b"\xff") + END, "a text that is not one"),
        (record(b"n", b"", b"\x1b") + END, "cannot be shown"),
        (record(b"n", b"", b"\xff") + END, "a text that is not one"),
        (record(b"n", b"", b"x" * 4097) + END, "cannot be shown"),
        (record(b"n") * 201 + END, "kind b'n'"),
        (record(b"r", b"", b"1") * 2 + END, "kind b'r'"),
    ],
)
def test_what_no_sender_packs_is_refused(data, reason):
    """Cut, doubled, below another file, or beyond a limit."""
    with pytest.raises(BrokenMessageError, match=reason):
        unpack(data)


def test_too_much_is_refused(monkeypatch):
    """In number and in bytes."""
    monkeypatch.setattr(submission_codec, "MAX_NOT_READ", 1)
    with pytest.raises(BrokenMessageError, match="kind b'u'"):
        unpack(record(b"u", b"a", b"1") + record(b"u", b"b", b"1") + END)
    monkeypatch.setattr(submission_codec, "MAX_FILES", 2)
    monkeypatch.setattr(submission_codec, "MAX_TOTAL_NUM_BYTES", 10)
    with pytest.raises(BrokenMessageError, match="more than 2 files"):
        unpack(b"".join(record(b"f", name) for name in (b"a", b"b", b"c")) + END)
    with pytest.raises(BrokenMessageError, match="add up to more"):
        unpack(record(b"f", b"a", bytes(6)) + record(b"f", b"b", bytes(6)) + END)


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
