"""The output folder of a class: a lock for it, its keys, and how its files are written."""

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from grader.course.secret import NUM_BYTES, course_secret, read_secret
from grader.model.errors import GraderError, UsageError

UNFINISHED = ".making-"
"""How the names of files and folders begin until they are whole."""
_IN_USE = ".in-use"
_SECRET = "secret"  # noqa: S105 - the name of its file
_RECORDING_KEY = "recording.key"
_PSEUDONYMS_KEY = "pseudonyms.key"
_PSEUDONYM_NUM_CHARS = 10
Kind = TypeVar("Kind")


@contextlib.contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Lock the folder; the system releases the lock however the command ends.

    Raises UsageError if another command has it: each would remove the other's unfinished files.
    """
    descriptor = os.open(out / _IN_USE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(
            f"another `grade class` is running in {out}; wait until it ends, or name another --out"
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)


def write_through(file: Path, content: bytes) -> None:
    """Write a file, and return once it is on the disk. Raises OSError."""
    with file.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def write_atomically(file: Path, content: Mapping[str, object] | str | bytes) -> None:
    """Replace a file in one step; a mapping is written as JSON. Raises OSError."""
    if isinstance(content, Mapping):
        content = json.dumps(content, indent=2, sort_keys=True)
    data = content if isinstance(content, bytes) else content.encode("utf-8", errors="replace")
    handle, name = tempfile.mkstemp(prefix=UNFINISHED, dir=file.parent)
    os.close(handle)
    made = Path(name)
    try:
        write_through(made, data)
        made.replace(file)
    except OSError:
        made.unlink(missing_ok=True)
        raise


def remove_unfinished(out: Path) -> None:
    """Remove unfinished files of killed commands from a class's folder: they may contain names."""
    for folder in ("", "students/*/", "marking/*/", "pairs/"):
        for left in out.glob(f"{folder}{UNFINISHED}*"):
            left.unlink(missing_ok=True)


def read_json(file: Path, kind: type[Kind]) -> Kind | None:
    """Return the content of our file; None if it is missing. Raises GraderError if invalid."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise GraderError(f"{file} cannot be read ({error}); restore it from a backup") from None


class Pseudonyms:
    """Ids without names: only the class's key can tell which student they belong to."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, identity: str) -> str:
        """Return the pseudonym of a student, the same each time."""
        # An id may be the name of a file in no encoding that we know.
        text = identity.encode(errors="surrogateescape")
        digest = hmac.new(self._key, text, hashlib.sha256).hexdigest()
        return f"s{digest[:_PSEUDONYM_NUM_CHARS]}"


def pseudonyms_in(out: Path) -> Pseudonyms:
    """Return the pseudonyms of the key in `out`, which is drawn if there is none.

    Raises GraderError for a file without a valid key: with another key, earlier pseudonyms would
    match no student, and with an empty one anybody could resolve them.
    """
    file = out / _PSEUDONYMS_KEY
    try:
        key = file.read_bytes()
    except FileNotFoundError:
        key = secrets.token_bytes(NUM_BYTES)
        write_atomically(file, key)
    except OSError as error:
        raise GraderError(f"{file} cannot be read: {error.strerror}") from None
    if len(key) != NUM_BYTES:
        raise GraderError(
            f"{file} is {len(key)} bytes long; expected a key of {NUM_BYTES} bytes. Restore it, or "
            "remove it to give all students new pseudonyms"
        )
    return Pseudonyms(key)


def secret_in(out: Path) -> Path:
    """Return the file of the secret from which the inputs for all hand-ins are derived.

    It is the course's own, or a new one if none is named. Raises UsageError if the course names
    another secret than the class was graded with.
    """
    file, named = out / _SECRET, course_secret()
    if not file.exists():
        write_atomically(file, named or secrets.token_hex(NUM_BYTES))
    elif named not in (None, read_secret(file)):
        raise UsageError(
            f"this class was graded with the secret in {file}, but GRADER_SECRET_FILE names "
            "another one; unset it, or grade into another folder with --out"
        )
    return file


def known_secret_in(out: Path) -> Path | None:
    """Return that file, else the one that the course names; None where there is neither."""
    file, named = out / _SECRET, os.environ.get("GRADER_SECRET_FILE")
    return file if file.exists() else Path(named) if named else None


def recording_key_in(out: Path) -> Path:
    """Return the file of the key that recordings are signed with."""
    if named := os.environ.get("GRADER_RECORDING_KEY_FILE"):
        return Path(named)
    file = out / _RECORDING_KEY
    if not file.exists():
        write_atomically(file, secrets.token_hex(NUM_BYTES))
    return file
