"""The secret that inputs follow from: the course's own, drawn for one grading, or public."""

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from grader.model.errors import GraderError, UsageError

NUM_BYTES = 32
"""Of a secret that is drawn."""
_FEWEST_KEY_NUM_BYTES = 32
PUBLIC_SECRET = b"grader: inputs that every student may repeat"
"""Stands for the course secret where there is none."""


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
            "the submission would run as your user and could read "
            f"{file or 'the seed given with --seed-of'}; use `grade run`, or "
            f"{'unset GRADER_SECRET_FILE' if file else 'omit --seed-of'}"
        )
    recording_key(is_sealed=is_sealed)
    if not is_sealed:
        return PUBLIC
    secret = sealed_secret(seed)
    if file:
        require_private(Path(file), "the course secret")
    return secret


def sealed_secret(seed: str = "") -> Secret:
    """Return what GRADER_SECRET_FILE holds, the seed of an earlier grading, or one drawn now.

    The image for students has public inputs. Raises UsageError where both are named, GraderError
    where the file cannot be read.
    """
    named = course_secret()
    if named is not None and seed:
        raise UsageError("GRADER_SECRET_FILE and --seed-of both give a secret; use only one")
    if named is not None:
        return Secret(named)
    if seed:
        return Secret(bytes.fromhex(seed), seed)
    if os.environ.get("GRADER_PUBLIC_INPUTS") == "1":
        return PUBLIC
    drawn = secrets.token_bytes(NUM_BYTES)
    return Secret(drawn, drawn.hex())


def named_secret(seed: str = "") -> Secret:
    """Return what sealed_secret does, but the public one where nothing is named: none is drawn."""
    is_named = seed or os.environ.get("GRADER_SECRET_FILE")
    return sealed_secret(seed) if is_named else PUBLIC


def require_kept(seed: str, *, is_kept: bool) -> None:
    """Raise UsageError for a seed that is not kept, though judging the recording needs it."""
    if seed and not is_kept:
        raise UsageError(
            "judging a recording needs its inputs; set GRADER_SECRET_FILE to the file with "
            "the course's secret, or keep the seed with `grade run --full-json FILE`"
        )


def require_private(file: Path, what: str) -> None:
    """Raise GraderError for a file that others may read: in a container, a submission could."""
    mode = file.stat().st_mode & 0o777
    if mode & 0o077:
        raise GraderError(
            f"{what} {file} has mode {mode:o}, so a submission could read it; expected 600 or "
            f"stricter: run chmod 600 {file}, and try again"
        )


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
            f"the submission would run as your user and could read the course's key {file}; "
            "unset GRADER_RECORDING_KEY_FILE, or use `grade run`"
        )
    return read_key(Path(file))


def read_key(file: Path) -> bytes:
    """Return the key that a course signs recordings with.

    Raises UsageError for a file that others may read, or that is too short to be a key.
    """
    try:
        mode, key = stat.S_IMODE(file.stat().st_mode), file.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"the key {file} cannot be read: {error.strerror}") from None
    if mode & 0o077:
        raise UsageError(
            f"the key {file} has mode {mode:o}, so others can read it; expected 600 or stricter: "
            f"run chmod 600 {file}, and try again"
        )
    if len(key) < _FEWEST_KEY_NUM_BYTES:
        raise UsageError(
            f"the key {file} is too short ({len(key)} of at least {_FEWEST_KEY_NUM_BYTES} bytes); "
            f"make a random one: (umask 077; openssl rand -hex 32 >{file})"
        )
    return key


def course_secret() -> bytes | None:
    """Return what GRADER_SECRET_FILE holds; None where it names none. Raises GraderError."""
    file = os.environ.get("GRADER_SECRET_FILE")
    return read_secret(Path(file)) if file else None


def read_secret(file: Path) -> bytes:
    """Return the secret in a file. Raises GraderError when there is nothing to read."""
    try:
        secret = file.read_bytes().strip()
    except OSError as error:
        raise GraderError(
            f"the secret file {file} cannot be read: {error.strerror}; fix that, or unset "
            "GRADER_SECRET_FILE to draw new inputs for each grading"
        ) from None
    if not secret:
        raise GraderError(
            f"the secret file {file} is empty; write a random line into it with: openssl rand "
            f"-hex 32 >{file}"
        )
    return secret
