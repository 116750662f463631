"""The secret that inputs follow from: the course's own, drawn for one grading, or public."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError, UsageError
from grader.recording.recording import read_key
from grader.suite.inputs import PUBLIC_SECRET

_NUM_BYTES = 32


@dataclass(frozen=True)
class Secret:
    """What the inputs of one grading follow from."""

    data: bytes
    seed: str = ""
    """The data in hex where it was drawn for this grading; the course's report keeps it."""


PUBLIC = Secret(PUBLIC_SECRET)


def secret_beside_ranks(*, is_sealed: bool, seed: str = "") -> Secret:
    """Return the secret where ranks run on the same machine, and may read what they may.

    seed: of an earlier grading. Raises UsageError where they run as who we are and either is named,
    GraderError where others may read the file.
    """
    file = os.environ.get("GRADER_SECRET_FILE")
    if not is_sealed and (file or seed):
        raise UsageError(
            f"the submission would run as you, and could read {file or 'the seed of that report'}; "
            f"use `grade run`, or leave {'GRADER_SECRET_FILE' if file else '--seed-of'} out"
        )
    recording_key(is_sealed=is_sealed)
    if not is_sealed:
        return PUBLIC
    secret = sealed_secret(seed)
    if file and Path(file).stat().st_mode & 0o077:
        raise GraderError(
            f"the course secret {file} has mode {Path(file).stat().st_mode & 0o777:o}, so a "
            "submission could read it; expected 600 or less: chmod 600 it and try again"
        )
    return secret


def sealed_secret(seed: str = "") -> Secret:
    """Return what GRADER_SECRET_FILE holds, the seed of an earlier grading, or one drawn now.

    The image for students has public inputs. Raises UsageError where both are named, GraderError
    where the file cannot be read.
    """
    named = course_secret()
    if named is not None and seed:
        raise UsageError("GRADER_SECRET_FILE and --seed-of both name a secret; leave one out")
    if named is not None:
        return Secret(named)
    if seed:
        return Secret(bytes.fromhex(seed), seed)
    if os.environ.get("GRADER_PUBLIC_INPUTS") == "1":
        return PUBLIC
    drawn = secrets.token_bytes(_NUM_BYTES)
    return Secret(drawn, drawn.hex())


def require_kept(seed: str, *, is_reported: bool) -> None:
    """Raise UsageError for a seed that no report keeps, though its recording is judged with it."""
    if seed and not is_reported:
        raise UsageError(
            "a recording is judged with the inputs of its grading; add --full-json FILE, which "
            "keeps their seed, or name the course's secret in GRADER_SECRET_FILE"
        )


def secret_file_of_class(out: Path) -> Path:
    """Return the file of a class's secret: the course's, else one in `out`, drawn where none is."""
    named = os.environ.get("GRADER_SECRET_FILE")
    if named:
        return Path(named)
    file = out / "secret"
    if not file.exists():
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_hex(_NUM_BYTES) + "\n")
    return file


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


def course_secret() -> bytes | None:
    """Return what GRADER_SECRET_FILE holds; None where it names no file.

    Raises GraderError when there is nothing to read.
    """
    file = os.environ.get("GRADER_SECRET_FILE")
    return read_secret(Path(file)) if file else None


def read_secret(file: Path) -> bytes:
    """Return the secret in a file. Raises GraderError when there is nothing to read."""
    try:
        secret = file.read_bytes().strip()
    except OSError as error:
        raise GraderError(
            f"the course secret {file} cannot be read: {error.strerror}; name a file that can be "
            "in GRADER_SECRET_FILE, or unset it for inputs drawn for each grading"
        ) from None
    if not secret:
        raise GraderError(
            f"the course secret {file} is empty; expected a line that nobody can guess: "
            f"openssl rand -hex 32 >{file}"
        )
    return secret
