"""Files on their way between processes: each with its kind, its name and its bytes.

A message is a sequence of records: the kind (one byte), the length of the name (two bytes,
big-endian), the length of the content (eight bytes), the name, the content. The kinds: `f`, a file;
`t`, when a file was last written; `u`, a file that was not read, and why; `d`, a folder without
scripts; `n`, a note (its content is the text); `r`, why there are no files; `x`, the same where the
reader itself failed; `e`, the end, without which a message is not whole. What arrives may have been
packed by anybody.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from grader.intake.archives.names import problem_of, shown_text
from grader.intake.submission import (
    MAX_FILES,
    MAX_FOLDERS,
    MAX_NOT_READ,
    MAX_TOTAL_NUM_BYTES,
    Submission,
    of_files,
)

_HEAD = struct.Struct(">cHQ")
_FILE, _TIME, _NOT_READ, _NOTE, _FOLDER = b"f", b"t", b"u", b"n", b"d"
_REFUSAL, _FAILURE, _END = b"r", b"x", b"e"
_MAX_TEXT_NUM_BYTES = 4096
_MAX_NOTES = 200
_MAX_NAME_NUM_BYTES = 1024
_MAX_PARTS = 32
_MAX_DIGITS = 12
MAX_NUM_BYTES = (
    MAX_TOTAL_NUM_BYTES
    + (MAX_FILES + MAX_FOLDERS + 1) * (_HEAD.size + _MAX_NAME_NUM_BYTES)
    + (_MAX_NOTES + MAX_FILES + 2 * MAX_NOT_READ) * (_HEAD.size + _MAX_TEXT_NUM_BYTES)
)
"""Of a whole message."""


@dataclass(frozen=True)
class SubmissionMessage:
    """Files, what was said of them, and why there may be none."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    not_read: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    refusal: str = ""
    """Why the submission cannot be graded; empty if it can."""
    failure: str = ""
    """How the grader's own reader failed; empty if it did not."""


class BrokenMessageError(Exception):
    """Bytes that no sender of ours would pack."""


def of_submission(submission: Submission) -> SubmissionMessage:
    """Return the message that holds a submission."""
    return SubmissionMessage(
        submission.files,
        submission.not_read,
        submission.times,
        submission.notes,
        submission.folders,
    )


def submission_of(origin: str, message: SubmissionMessage) -> Submission:
    """Return the submission in a message; its digest is computed here."""
    return of_files(
        origin, message.files, message.not_read, message.times, message.notes, message.folders
    )


def pack(message: SubmissionMessage) -> Iterator[bytes]:
    """Yield the bytes of a message in pieces."""
    for name, content in message.files.items():
        yield from _record(_FILE, name.encode(), content)
    for name, time_s in message.times.items():
        yield from _record(_TIME, name.encode(), str(time_s).encode())
    for name, reason in message.not_read.items():
        yield from _record(_NOT_READ, _plain(name), _plain(reason))
    for name in message.folders[:MAX_FOLDERS]:
        yield from _record(_FOLDER, name.encode(), b"")
    texts = [(_NOTE, note) for note in message.notes[:_MAX_NOTES]]
    texts += [(_REFUSAL, message.refusal)] if message.refusal else []
    texts += [(_FAILURE, message.failure)] if message.failure else []
    for kind, text in texts:
        yield from _record(kind, b"", _plain(text))
    yield from _record(_END, b"", b"")


def unpack(data: bytes) -> SubmissionMessage:
    """Return the message in these bytes; only whole ones with plain names are taken.

    Raises BrokenMessageError for all others.
    """
    files: dict[str, bytes] = {}
    not_read: dict[str, str] = {}
    times: dict[str, int] = {}
    folders: dict[str, bytes] = {}
    notes: list[str] = []
    reasons = {_REFUSAL: "", _FAILURE: ""}
    for kind, name, content in _records(data):
        if kind == _FILE:
            files[_checked_name(name, files)] = content
        elif kind == _TIME and _text(name) in files:
            times[_text(name)] = _number(content)
        elif kind == _NOT_READ and len(not_read) < MAX_NOT_READ:
            not_read[_text(name)] = _text(content)
        elif kind == _FOLDER and len(folders) < MAX_FOLDERS and not content:
            folders[_checked_name(name, folders)] = b""
        elif kind == _NOTE and len(notes) < _MAX_NOTES:
            notes.append(_text(content))
        elif kind in reasons and content and not reasons[kind]:
            reasons[kind] = _text(content)
        else:
            raise BrokenMessageError(f"a record of kind {kind!r} that does not belong there")
    if sum(map(len, files.values())) > MAX_TOTAL_NUM_BYTES:
        raise BrokenMessageError("files that add up to more than is accepted")
    for path in (*files, *(f"{folder}/" for folder in folders)):
        parts = path.split("/")
        if any("/".join(parts[:depth]) in files for depth in range(1, len(parts))):
            raise BrokenMessageError(f"{path!r} below another file")
    return SubmissionMessage(
        files,
        not_read,
        times,
        tuple(notes),
        tuple(folders),
        refusal=reasons[_REFUSAL],
        failure=reasons[_FAILURE],
    )


def _record(kind: bytes, name: bytes, content: bytes) -> Iterator[bytes]:
    yield _HEAD.pack(kind, len(name), len(content)) + name
    yield content


def _records(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield (kind, name, content) of all records but the end."""
    place = 0
    while len(data) - place >= _HEAD.size:
        kind, name_length, content_length = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        end = place + name_length + content_length
        if end > len(data):
            break
        if kind == _END:
            if end != len(data) or name_length or content_length:
                raise BrokenMessageError("something after its end")
            return
        yield kind, data[place : place + name_length], data[place + name_length : end]
        place = end
    raise BrokenMessageError(f"{len(data)} bytes without an end")


def _checked_name(name: bytes, others: Mapping[str, bytes]) -> str:
    try:
        text = name.decode()
    except UnicodeDecodeError:
        raise BrokenMessageError(f"the name {name[:80]!r}, which is not text") from None
    parts = text.split("/")
    is_long = len(parts) > _MAX_PARTS or len(name) > _MAX_NAME_NUM_BYTES
    if {"", ".", ".."} & set(parts) or is_long or problem_of(parts):
        raise BrokenMessageError(f"the name {text[:80]!r}, which a file must not have")
    if text in others:
        raise BrokenMessageError(f"{text!r} twice")
    if len(others) >= MAX_FILES:
        raise BrokenMessageError(f"more than {MAX_FILES} files")
    return text


def _plain(text: str) -> bytes:
    """Return a text as `_text` takes it."""
    return shown_text(text).encode()[:_MAX_TEXT_NUM_BYTES].decode(errors="ignore").encode()


def _number(content: bytes) -> int:
    if not content.isdigit() or len(content) > _MAX_DIGITS:
        raise BrokenMessageError("a time that is not a number")
    return int(content)


def _text(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise BrokenMessageError("a text that is not one") from None
    if len(content) > _MAX_TEXT_NUM_BYTES or not text.isprintable():
        raise BrokenMessageError("a text that cannot be shown")
    return text
