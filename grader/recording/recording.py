"""A recording: what was seen of the launches of one grading, and whom that was seen of."""

import contextlib
import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from grader.model.errors import UsageError
from grader.recording.codec import UnreadableRecording

FORMAT = 1
_MAGIC = b"grader recording\n"
_TAG_NUM_BYTES = hashlib.sha256().digest_size
_NO_TAG = bytes(_TAG_NUM_BYTES)
MAX_NUM_BYTES = 1 << 30


@dataclass(frozen=True)
class Header:
    """Whom a recording is of, and who has made it."""

    observer: str
    """The digest of what has observed: another one may see other things."""
    host: str
    """`local` or `sealed`."""
    environment: Mapping[str, str]
    """Versions, kernel and CPU; to be read by people."""
    submission: str
    """The digest of what was handed in."""
    assignment: str
    course: str
    """The name of the course, and the digest of its suites and files."""
    course_digest: str
    notes: tuple[str, ...] = ()
    """What its report said of the grading as a whole."""
    is_whole: bool = True
    """It has all launches: none was too much, or made before a judge died."""
    format: int = FORMAT


@dataclass(frozen=True)
class RecordedLaunch:
    """One launch as it is stored."""

    fields: Mapping[str, str]
    """A digest for each field of its plan; the key follows from them."""
    label: str
    """The number of ranks and the cases, to be read by people."""
    observed: bytes
    """As grader.recording.codec has encoded it."""


@dataclass(frozen=True)
class Recording:
    """The launches of one grading."""

    header: Header
    launches: Mapping[str, RecordedLaunch] = field(default_factory=dict)
    """By the keys of their plans."""
    is_authentic: bool = False
    """It was signed with the key of the course, and not changed since."""


def packed(recording: Recording) -> bytes:
    """Return the content of the file of a recording that nobody has signed."""
    body = msgspec.msgpack.encode({"header": recording.header, "launches": recording.launches})
    return b"".join([_MAGIC, _NO_TAG, body])


def write(file: Path, recording: Recording, key: bytes | None = None) -> None:
    """Write a recording; with a key, signed. Raises UsageError where that is not possible."""
    write_packed(file, packed(recording), key)


def write_packed(file: Path, content: bytes, key: bytes | None) -> None:
    """Write what packed has returned, likewise."""
    if len(content) > MAX_NUM_BYTES:
        raise UsageError(
            f"the recording is larger than {MAX_NUM_BYTES >> 20:,} MiB, the limit. "
            "Record fewer parts at once, with --part"
        )
    body = content[len(_MAGIC) + _TAG_NUM_BYTES :]
    tag = _NO_TAG if key is None else _tag(body, key)
    try:
        replace_file(file, b"".join([_MAGIC, tag, body]))
    except OSError as error:
        raise UsageError(f"the recording {file} cannot be written: {error.strerror}") from None


def replace_file(file: Path, content: bytes) -> None:
    """Write a file in one step, for its owner alone. Raises OSError."""
    beside = file.with_name(f".{os.getpid()}-{file.name}")
    try:
        beside.touch(mode=0o600)
        beside.write_bytes(content)
        beside.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def read(file: Path, key: bytes | None = None) -> Recording:
    """Read a recording. Raises UsageError for a file that is none, UnreadableRecording."""
    return parse(_content(file), str(file), key)


def parse(content: bytes, name: str, key: bytes | None = None) -> Recording:
    """Return the recording that a file of this name holds; raises as read does."""
    if not content.startswith(_MAGIC) or len(content) < len(_MAGIC) + _TAG_NUM_BYTES:
        raise UsageError(
            f"the file {name} is not a recording; expected one that `grade observe` wrote"
        )
    tag = content[len(_MAGIC) : len(_MAGIC) + _TAG_NUM_BYTES]
    body = content[len(_MAGIC) + _TAG_NUM_BYTES :]
    try:
        found = msgspec.msgpack.decode(body, type=Recording)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise UnreadableRecording(
            f"the recording {name} is damaged ({error}); make it again with `grade observe`"
        ) from None
    if found.header.format != FORMAT:
        raise UsageError(
            f"the recording {name} has format {found.header.format}, but this grader reads "
            f"format {FORMAT}: record it again with `grade observe`"
        )
    is_authentic = key is not None and hmac.compare_digest(tag, _tag(body, key))
    return replace(found, is_authentic=is_authentic)


def _content(file: Path) -> bytes:
    try:
        if file.stat().st_size > MAX_NUM_BYTES:
            raise UsageError(
                f"{file} is larger than {MAX_NUM_BYTES >> 20:,} MiB, the limit for a recording. "
                "Name a file that `grade observe` wrote"
            )
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"the recording {file} cannot be read: {error.strerror}") from None


def _tag(body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, _MAGIC + body, "sha256")
