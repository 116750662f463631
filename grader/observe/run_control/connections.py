"""The sockets between the judge and the ranks of one run."""

import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grader.model.errors import LaunchError
from grader.observe.forkserver.local_sockets import listening_at, peer
from grader.observe.run_control.rank_messages import (
    CLOSED,
    SPARE_NUM_BYTES,
    Frame,
    FrameReader,
    ProtocolError,
    broken,
    encode,
)

_CHUNK_NUM_BYTES = 1 << 20


class RankSocket:
    """One rank's connection: never blocks the judge, whatever the rank does or does not read."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.unsent: deque[memoryview] = deque()
        self.reader = FrameReader()

    def read(self) -> list[Frame]:
        """Return the frames that have arrived; CLOSED when the rank has gone or broke the rules."""
        try:
            data = self.connection.recv(_CHUNK_NUM_BYTES)
            return self.reader.feed(data) if data else [CLOSED]
        except BlockingIOError:
            return []
        except OSError:
            return [CLOSED]
        except ProtocolError as error:
            return [broken(str(error))]

    def write(self) -> None:
        """Send as much as the rank takes now."""
        try:
            while self.unsent:
                sent = self.connection.send(self.unsent[0][:_CHUNK_NUM_BYTES])
                self.unsent[0] = self.unsent[0][sent:]
                if not self.unsent[0]:
                    self.unsent.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self.unsent.clear()


class Connections:
    """All ranks of a run, each claimed once."""

    def __init__(self, socket_path: Path, ranks: int, uid: int) -> None:
        """uid: the only user whose processes may connect."""
        self._listener = listening_at(socket_path, ranks)
        self._ranks = ranks
        self._uid = uid
        self._sockets: dict[int, RankSocket] = {}
        self._selector = selectors.DefaultSelector()

    def accept_all(self, deadline_s: float, still_starting: Callable[[], bool]) -> None:
        """Wait until every rank has connected and said hello, then listen no more.

        Raises LaunchError when time is up or `still_starting` says that mpirun has ended.
        """
        waiting: list[RankSocket] = []
        self._listener.settimeout(0.02)
        while len(self._sockets) < self._ranks:
            if time.monotonic() > deadline_s or not still_starting():
                raise LaunchError(f"{len(self._sockets)} of {self._ranks} ranks started")
            try:
                connection, _ = self._listener.accept()
                if peer(connection)[1] != self._uid:
                    connection.close()
                    continue
                waiting.append(RankSocket(connection))
            except TimeoutError:
                pass
            waiting = [candidate for candidate in waiting if not self._claimed(candidate)]
        self._listener.close()
        for rank, rank_socket in self._sockets.items():
            self._selector.register(rank_socket.connection, selectors.EVENT_READ, rank)

    def _claimed(self, candidate: RankSocket) -> bool:
        """Return whether the candidate has named its rank (or has to be forgotten)."""
        for frame in candidate.read():
            claim = frame.values.get("rank") if frame.kind == "hello" else None
            if isinstance(claim, int) and claim in set(range(self._ranks)) - set(self._sockets):
                self._sockets[claim] = candidate
                return True
            candidate.connection.close()
            return True
        return False

    def pass_descriptors(self, rank: int, descriptors: Sequence[int]) -> None:
        """Hand file descriptors to a rank; raises LaunchError when it has already gone."""
        try:
            socket.send_fds(self._sockets[rank].connection, [b"F"], list(descriptors))
        except OSError as error:
            raise LaunchError(
                f"rank {rank} closed its connection while starting ({error})"
            ) from None

    def send(
        self,
        rank: int,
        kind: str,
        values: Mapping[str, Any] | None = None,
        arrays: Mapping[str, np.ndarray[Any, Any]] | None = None,
    ) -> None:
        """Queue one frame for a rank and start sending it."""
        rank_socket = self._sockets[rank]
        rank_socket.unsent.extend(map(memoryview, encode(kind, values or {}, arrays or {})))
        rank_socket.write()
        self._watch(rank)

    def expect(self, rank: int, num_bytes: int) -> None:
        """Take arrays of so many bytes from a rank, and what may be wrong with their form."""
        self._sockets[rank].reader.most_num_bytes = num_bytes + SPARE_NUM_BYTES

    def poll(self, timeout_s: float) -> list[tuple[int, Frame]]:
        """Move bytes both ways for at most timeout_s; return what has arrived."""
        arrived = []
        for key, events in self._selector.select(timeout_s):
            rank = key.data
            if events & selectors.EVENT_WRITE:
                self._sockets[rank].write()
                self._watch(rank)
            if events & selectors.EVENT_READ:
                frames = self._sockets[rank].read()
                arrived += [(rank, frame) for frame in frames]
                if any(frame.kind in ("closed", "broken") for frame in frames):
                    self._selector.unregister(self._sockets[rank].connection)
        return arrived

    def _watch(self, rank: int) -> None:
        """Ask the selector for writing only while something is left to write."""
        rank_socket = self._sockets[rank]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if rank_socket.unsent else 0)
        if rank_socket.connection in self._selector.get_map():
            self._selector.modify(rank_socket.connection, wanted, rank)

    def close(self) -> None:
        """Close everything."""
        self._selector.close()
        self._listener.close()
        for rank_socket in self._sockets.values():
            rank_socket.connection.close()
