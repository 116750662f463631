"""What all hand-ins of a class are graded with: the secret of inputs, the key of recordings."""

import os
import secrets
from pathlib import Path

from grader.addons.classroom.gradings import write_atomically
from grader.course.secret import NUM_BYTES, course_secret, read_secret
from grader.model.errors import UsageError

_NAME = "secret"
_RECORDING_KEY = "recording.key"


def kept_in(out: Path) -> Path:
    """Return the file in `out` that keeps it: the course's own, or one drawn where none is named.

    Raises UsageError where the course names another one than its class was graded with.
    """
    file, named = out / _NAME, course_secret()
    if not file.exists():
        write_atomically(file, named or secrets.token_hex(NUM_BYTES))
    elif named not in (None, read_secret(file)):
        raise UsageError(
            f"this class was graded with the secret in {file}, but GRADER_SECRET_FILE names "
            "another one; unset it, or grade into another folder with --out"
        )
    return file


def recording_key_in(out: Path) -> Path:
    """Return the file of the key that recordings are signed with.

    The one that GRADER_RECORDING_KEY_FILE names, else one in `out`, which is drawn once.
    """
    if named := os.environ.get("GRADER_RECORDING_KEY_FILE"):
        return Path(named)
    file = out / _RECORDING_KEY
    if not file.exists():
        write_atomically(file, secrets.token_hex(NUM_BYTES))
    return file


def known_in(out: Path) -> Path | None:
    """Return that file, else the one that the course names; None where there is neither."""
    file, named = out / _NAME, os.environ.get("GRADER_SECRET_FILE")
    if file.exists():
        return file
    return Path(named) if named else None
