"""What a student is called where names are not needed."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

_NUM_CHARS = 10
_KEY_NUM_BYTES = 32


class Pseudonyms:
    """Ids without names: who has the class's key, and nobody else, can tell whose they are."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, identity: str) -> str:
        """Return the pseudonym of a student, the same each time."""
        digest = hmac.new(self._key, identity.encode(), hashlib.sha256).hexdigest()
        return f"s{digest[:_NUM_CHARS]}"


def kept_in(file: Path) -> Pseudonyms:
    """Return the pseudonyms of the key in a file, which is made where there is none."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return Pseudonyms(file.read_bytes())
    key = secrets.token_bytes(_KEY_NUM_BYTES)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(key)
    return Pseudonyms(key)
