"""What mpirun started in place of the ranks: who may be one, and what it may say.

Of what a placeholder sends nothing is used but a list of variables, and of those none that could
make a rank load code.
"""

import contextlib
import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .local_sockets import listening_at, peer
from .processes import is_below

_NAMES = frozenset(
    (
        *("OMPI_FILE_LOCATION", "OMPI_LIBDIR_LOC", "OMPI_NUM_APP_CTX", "OMPI_TOOL_NAME"),
        *("OMPI_UNIVERSE_SIZE", "OMPI_VERSION", "OPAL_PREFIX", "OPAL_USER_PARAMS_GIVEN"),
        *("OMPI_MCA_PREFIXES", "OMPI_MCA_btl", "OMPI_MCA_btl_sm_backing_directory"),
        *("OMPI_MCA_cpu_type", "OMPI_MCA_initial_wdir", "OMPI_MCA_mpi_yield_when_idle"),
        *("OMPI_MCA_num_procs", "OMPI_MCA_pml", "OMPI_MCA_smsc"),
        *("OMPI_MCA_coll", "OMPI_MCA_osc", "OMPI_MCA_pml_monitoring_enable"),
        *("OMPI_MCA_osc_sm_backing_directory", "OMPI_MCA_osc_rdma_backing_directory"),
        *("PMIX_BFROP_BUFFER_TYPE", "PMIX_GDS_MODULE", "PMIX_HOSTNAME", "PMIX_NAMESPACE"),
        *("PMIX_PARAM_FILE_PASSED", "PMIX_PREFIX", "PMIX_RANK", "PMIX_SECURITY_MODE"),
        *("PMIX_SERVER_TMPDIR", "PMIX_SYSTEM_TMPDIR", "PMIX_VERSION"),
        *("PRTE_LAUNCHED", "PRTE_SHARED_FS", "PRTE_PREFIX"),
    )
)
"""What Open MPI 5 tells a rank by its environment, and ours asked for on mpirun's command line."""
_NUMBERED = re.compile(r"OMPI_(COMM_)?WORLD_[A-Z_]+|PMIX_SERVER_URI\d+")
_ADDRESS = re.compile(r"tcp[46]://[0-9a-f.:]+")
_PATH = re.compile(r"(?:^|[\s=:;,@])(/[^\s:;,]*)")
_MAX_NUM_BYTES = 256 << 10
_MAX_WAITING = 256
_PATIENCE_S = 10.0


@dataclass
class _Candidate:
    """A connection that has not said everything yet."""

    connection: socket.socket
    until_s: float
    """All it has to say has to be here by then, however it comes."""
    said: bytearray = field(default_factory=bytearray)


class PlaceholderRegistry:
    """Accepts placeholders until each rank has one, and never waits for any of them."""

    def __init__(self, path: Path, ranks: int, uid: int, folders: Sequence[Path]) -> None:
        """uid: whose processes may connect. folders: all that a variable may name."""
        self._path = path
        self._ranks = ranks
        self._uid = uid
        self._folders = tuple(folder.resolve() for folder in folders)
        self._candidates: list[_Candidate] = []
        self._connections: dict[int, socket.socket] = {}
        self.mpirun = -1
        """The process that placeholders are started by."""
        self._listener: socket.socket | None = listening_at(path, ranks)
        self._listener.setblocking(False)

    @property
    def sources(self) -> list[socket.socket]:
        """Return what to call `poll` for when it can be read."""
        waiting = [candidate.connection for candidate in self._candidates]
        return [*waiting, *([self._listener] if self._listener is not None else [])]

    def poll(self) -> list[tuple[int, dict[str, str]]]:
        """Take what has come; return each rank whose placeholder is complete, and its variables."""
        self._accept()
        complete = []
        for candidate in list(self._candidates):
            if self._has_said_all(candidate):
                self._candidates.remove(candidate)
                environment = allowed_environment(bytes(candidate.said), self._folders)
                rank = self._rank_of(environment)
                if rank is None:
                    candidate.connection.close()
                    continue
                self._connections[rank] = candidate.connection
                complete.append((rank, environment))
        if len(self._connections) == self._ranks:
            self._stop_listening()
        return complete

    def _accept(self) -> None:
        # Those that connect meanwhile come next time: the forkserver has the rest of the run to
        # watch.
        for _ in range(_MAX_WAITING):
            if self._listener is None:
                return
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return
            pid, uid = peer(connection)
            is_ours = uid == self._uid and is_below(pid, self.mpirun)
            if not is_ours or len(self._candidates) >= _MAX_WAITING:
                connection.close()
                continue
            connection.setblocking(False)
            self._candidates.append(_Candidate(connection, time.monotonic() + _PATIENCE_S))

    def _has_said_all(self, candidate: _Candidate) -> bool:
        """Take what has come; forget a candidate that takes too long or says too much."""
        try:
            while len(candidate.said) <= _MAX_NUM_BYTES:
                piece = candidate.connection.recv(1 << 16)
                if not piece:
                    return True
                candidate.said += piece
        except BlockingIOError:
            if time.monotonic() < candidate.until_s:
                return False
        except OSError:
            pass
        candidate.connection.close()
        self._candidates.remove(candidate)
        return False

    def _rank_of(self, environment: Mapping[str, str]) -> int | None:
        """Return the rank a placeholder stands for; None if there is none, or it is taken."""
        claimed = environment.get("OMPI_COMM_WORLD_RANK", "")
        free = {str(rank): rank for rank in range(self._ranks) if rank not in self._connections}
        return free.get(claimed)

    def tell(self, rank: int, status: int) -> None:
        """Tell the placeholder of a rank, if there is one, how the rank ended."""
        connection = self._connections.get(rank)
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.sendall(str(status).encode())
                connection.shutdown(socket.SHUT_WR)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            self._path.unlink(missing_ok=True)
        for candidate in self._candidates:
            candidate.connection.close()
        self._candidates.clear()

    def close(self) -> None:
        """Close every connection."""
        self._stop_listening()
        for connection in self._connections.values():
            connection.close()


def allowed_environment(said: bytes, folders: Sequence[Path]) -> dict[str, str]:
    """Return the variables that a rank takes over of what a placeholder said.

    Dropped is every name that is not on the list, and every value with a path outside of `folders`,
    which hold no symbolic link in their own paths.
    """
    found = {}
    for entry in said.split(b"\0"):
        name, _, value = os.fsdecode(entry).partition("=")
        if (name in _NAMES or _NUMBERED.fullmatch(name)) and _stays_within(value, folders):
            found[name] = value
    return found


def _stays_within(value: str, folders: Sequence[Path]) -> bool:
    paths = [Path(os.path.realpath(path)) for path in _PATH.findall(_ADDRESS.sub("", value))]
    return all(any(path.is_relative_to(folder) for folder in folders) for path in paths)
