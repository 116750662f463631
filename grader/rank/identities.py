"""Keeps the identity of an object that has ended from being that of a later one.

CPython's `id` is an address, which the next object of the same size may get. Whoever remembers a
process group by its identity would then find one that was destroyed.
"""

import sys

_MAX_ATTEMPTS = 10_000
"""Objects of one size; free places for them may be many. They take a millisecond."""
_EMPTY_NUM_BYTES = sys.getsizeof(b"")


class EndedIdentities:
    """Identities that no later object is to have."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        """Size in bytes of objects that may still be there, by identity."""
        self._taken: list[bytes] = []

    def add(self, ended: object) -> None:
        """Remember an object that its owners are about to let go of."""
        self._open[id(ended)] = sys.getsizeof(ended)

    def take(self) -> None:
        """Have something else lie where remembered objects were, as far as they have gone."""
        for identity, num_bytes in list(self._open.items()):
            found = _object_at(identity, num_bytes)
            if found is not None:
                self._taken.append(found)
                del self._open[identity]


def _object_at(identity: int, num_bytes: int) -> bytes | None:
    """Return a new object with this identity; None where something else lies there."""
    others = []
    for _ in range(_MAX_ATTEMPTS):
        made = bytes(max(1, num_bytes - _EMPTY_NUM_BYTES))
        if id(made) == identity:
            return made
        others.append(made)
    return None
