"""Which processes of a run have connected, and what each of them has said.

The kernel tells which process connects. It says something by the name of its own socket: so no
process speaks for another one, and nobody waits for what has not been sent yet.
"""

import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from .local_sockets import listening_at, peer
from .processes import is_alive

_MAX_WAITING = 128
_MAX_PROCESSES = 256
"""How many are told apart: more than any task starts, few enough to look at all of them."""
_MAX_SAID = 4096
"""How often they may say something, all together."""
_MAX_SAID_NUM_CHARS = 64
_AT_ONCE_S = 0.2
"""How long one call of `count_waiting` may take: the forkserver has the rest of a run to watch."""
_DRAIN_LIMIT_S = 5.0


class ProcessCensus:
    """Hears processes that connect to a socket; each is let go as soon as it is heard."""

    def __init__(self, path: Path, uids: Collection[int], *, is_open: bool = True) -> None:
        """uids: whose processes are counted. is_open: they may connect; a full queue shows."""
        self.listener = listening_at(path, _MAX_WAITING, 0o666 if is_open else 0o600)
        self.listener.setblocking(False)
        self._uids = frozenset(uids)
        self._said: dict[int, list[str]] = {}
        self._most_at_once = 0

    def count_waiting(self, patience_s: float = _AT_ONCE_S) -> None:
        """Count each process that waits, while it is there, and let it go on.

        patience_s: when it is over, those who are still waiting are left for the next time.
        """
        until_s = time.monotonic() + patience_s
        # More than can wait in the queue: who came before we were called is counted.
        for _ in range(2 * _MAX_WAITING):
            try:
                connection, name = self.listener.accept()
            except BlockingIOError:
                return
            with connection:
                pid, uid = peer(connection)
                if uid not in self._uids:
                    continue
                if len(self._said) < _MAX_PROCESSES and pid not in self._said:
                    self._said[pid] = []
                    self._most_at_once = max(self._most_at_once, sum(map(is_alive, self._said)))
                said = name[1:].decode("ascii", "replace") if isinstance(name, bytes) else ""
                if pid in self._said and self._may_be_kept(said):
                    self._said[pid].append(said)
            if time.monotonic() > until_s:
                return

    def _may_be_kept(self, said: str) -> bool:
        """Return whether it is a short ASCII text, and there is room for it."""
        is_text = said.isascii() and said.isprintable() and 0 < len(said) <= _MAX_SAID_NUM_CHARS
        return is_text and sum(map(len, self._said.values())) < _MAX_SAID

    def drain(self) -> dict[str, Any]:
        """Return what each has said since this was last called, and how many lived at once."""
        self.count_waiting(_DRAIN_LIMIT_S)
        told = {"said": list(self._said.values()), "at_once": self._most_at_once}
        self._said, self._most_at_once = {}, 0
        return told

    def close(self) -> None:
        """Stop listening."""
        self.listener.close()
