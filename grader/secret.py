"""The course's secret, which inputs follow from."""

import os
from pathlib import Path

from grader.errors import GraderError, UsageError
from grader.recording.recording import read_key
from grader.suite.inputs import PUBLIC_SECRET


def secret_beside_ranks(*, is_sealed: bool) -> bytes:
    """Return the course secret where ranks run on the same machine, and may read what they may.

    Raises UsageError where they run as who we are, GraderError where others may read the file.
    """
    file = os.environ.get("GRADER_SECRET_FILE")
    if file and not is_sealed:
        raise UsageError(
            "`grade check` runs the submission as you, and it could read the course secret "
            f"{file}; unset GRADER_SECRET_FILE, or use `grade run`"
        )
    recording_key(is_sealed=is_sealed)
    secret = course_secret()
    if file and Path(file).stat().st_mode & 0o077:
        raise GraderError(
            f"the course secret {file} has mode {Path(file).stat().st_mode & 0o777:o}, so a "
            "submission could read it; expected 600 or less: chmod 600 it and try again"
        )
    return secret


def recording_key(*, is_sealed: bool) -> bytes | None:
    """Return the key that the course signs recordings with; None where it has named none.

    is_sealed: ranks on this machine cannot read it. Raises UsageError where they could, or where
    the file is no key.
    """
    file = os.environ.get("GRADER_RECORDING_KEY_FILE")
    if not file:
        return None
    if not is_sealed:
        raise UsageError(
            f"the submission would run as you, and could read the course's key {file}; unset "
            "GRADER_RECORDING_KEY_FILE, or use `grade run`"
        )
    return read_key(Path(file))


def course_secret() -> bytes:
    """Return what GRADER_SECRET_FILE holds, else what is public.

    Raises GraderError when there is nothing to read.
    """
    file = os.environ.get("GRADER_SECRET_FILE")
    if not file:
        return PUBLIC_SECRET
    try:
        secret = Path(file).read_bytes().strip()
    except OSError as error:
        raise GraderError(
            f"the course secret {file} cannot be read: {error.strerror}; name a file that can be "
            "in GRADER_SECRET_FILE, or unset it for a grading with public inputs"
        ) from None
    if not secret:
        raise GraderError(
            f"the course secret {file} is empty; expected a line that nobody can guess: "
            f"openssl rand -hex 32 >{file}"
        )
    return secret
