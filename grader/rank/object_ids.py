"""Keeps later objects from getting the identity of one that has ended.

CPython's `id` is an address, which the next object of the same size may get. Whoever remembers a
process group by its identity would then find one that was destroyed.
"""

import sys
from collections import defaultdict

_NUM_ATTEMPTS = 10_000
"""Free places for objects of one size may be many. To fill these takes a millisecond."""
_EMPTY_NUM_BYTES = sys.getsizeof(b"")
_IS_COLLECTED = 1 << 14
"""Py_TPFLAGS_HAVE_GC: objects of such a type begin in front of their address."""


class EndedIdentities:
    """Identities that no later object may have."""

    def __init__(self) -> None:
        self._open: dict[int, set[int]] = defaultdict(set)
        """Of objects that may still be there, by their size in bytes."""
        self._taken: list[object] = []

    def add(self, ended: object) -> None:
        """Remember an object that its owners are about to let go of.

        One that the collector looks after is kept: nothing simple can lie where it was. A process
        group of torch is none of these, but a submission may have put something in its place.
        """
        if type(ended).__flags__ & _IS_COLLECTED:
            self._taken.append(ended)
        else:
            self._open[sys.getsizeof(ended)].add(id(ended))

    def take(self) -> None:
        """Have something else lie where remembered objects were, as far as they have gone."""
        for num_bytes in self._open:
            self._take(num_bytes)

    def _take(self, num_bytes: int) -> None:
        # First of all: what else is made here may be of that size, and lie in the place meanwhile.
        made = [bytes(max(1, num_bytes - _EMPTY_NUM_BYTES)) for _ in range(_NUM_ATTEMPTS)]
        taken = [each for each in made if id(each) in self._open[num_bytes]]
        self._open[num_bytes].difference_update(map(id, taken))
        self._taken += taken
