"""What a student is called where names are not needed."""

import hashlib
import hmac
import secrets
from pathlib import Path

from grader.addons.classroom.gradings import write_atomically
from grader.model.errors import GraderError

_NUM_CHARS = 10
_KEY_NUM_BYTES = 32


class Pseudonyms:
    """Ids without names: who has the class's key, and nobody else, can tell whose they are."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, identity: str) -> str:
        """Return the pseudonym of a student, the same each time."""
        # An id may be the name of a file in no encoding that we know.
        text = identity.encode(errors="surrogateescape")
        digest = hmac.new(self._key, text, hashlib.sha256).hexdigest()
        return f"s{digest[:_NUM_CHARS]}"


def kept_in(file: Path) -> Pseudonyms:
    """Return the pseudonyms of the key in a file, which is made where there is none.

    Raises GraderError for a file that holds no key: with another one, what was written before
    would be of nobody, and with an empty one anybody could tell whose it is.
    """
    try:
        key = file.read_bytes()
    except FileNotFoundError:
        key = secrets.token_bytes(_KEY_NUM_BYTES)
        write_atomically(file, key)
    except OSError as error:
        raise GraderError(f"{file} cannot be read: {error.strerror}") from None
    if len(key) != _KEY_NUM_BYTES:
        raise GraderError(
            f"{file} has {len(key)} bytes; expected a key of {_KEY_NUM_BYTES}. Restore it; or "
            "remove it, and all students get new pseudonyms"
        )
    return Pseudonyms(key)
