"""One run in the zygote: its mpirun, its stubs, and the ranks forked in their place."""

import contextlib
import os
import random
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from .confinement import confine

_PEER_CREDENTIALS = struct.Struct("3i")
_FROM_STUBS = ("OMPI_", "PMIX_", "PRTE_", "PMI_")
"""What mpirun tells a rank by its environment; nothing else of a stub's is believed."""
_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Order:
    """What the judge asks for."""

    folder: str
    uid: int | None
    ranks: int
    memory_num_bytes: int
    mpirun: list[str] | None
    """The command that starts the stubs; None to fork the ranks at once."""
    environment: dict[str, str]


class Run:
    """The processes of one run, forked from this one."""

    def __init__(self, order: Order, rank_main: Callable[[str, int], None]) -> None:
        """rank_main: what a rank does, given the judge's socket and its number."""
        self._order = order
        self._rank_main = rank_main
        self._log = os.open(f"{order.folder}/mpirun.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._pids: dict[int, int] = {}
        """Rank of each process that has not ended."""
        self._stubs: dict[int, socket.socket] = {}
        self._mpirun = -1
        self.listener: socket.socket | None = None
        if order.mpirun is None:
            for rank in range(order.ranks):
                self._fork_rank(rank, {})
        else:
            self._start_mpirun(order.mpirun)

    @property
    def folder(self) -> Path:
        """Return the run's folder."""
        return Path(self._order.folder)

    @property
    def uid(self) -> int | None:
        """Return the user the run has to itself, if any."""
        return self._order.uid

    def _start_mpirun(self, command: list[str]) -> None:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = self.folder / "stubs.sock"
        self.listener.bind(str(path))
        path.chmod(0o666)
        self.listener.listen(self._order.ranks)
        self._mpirun = self._fork(lambda: os.execvp(command[0], command), {})  # noqa: S606 - ours

    def _fork(self, act: Callable[[], object], environment: dict[str, str]) -> int:
        """Return the pid of a new process of the run, which does `act`."""
        order = self._order
        pid = os.fork()
        if pid:
            return pid
        try:
            confine(order.uid, order.memory_num_bytes, self._log)
            os.environ.clear()
            os.environ.update({**order.environment, **environment})
            os.chdir(self.folder / "scratch")
            act()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(127)

    def _fork_rank(self, rank: int, environment: dict[str, str]) -> None:
        def be_rank() -> None:
            # Processes started one by one would not share the state of their random numbers.
            random.seed()
            if "numpy" in sys.modules:
                sys.modules["numpy"].random.seed()
            sys.argv[:] = [""]
            # Processes that a student starts are not to import ours again.
            sys.modules["__main__"] = ModuleType("__main__")
            self._rank_main(f"{self._order.folder}/judge.sock", rank)

        self._pids[self._fork(be_rank, environment)] = rank

    def accept_stub(self) -> None:
        """Fork the rank that a stub stands for; afterwards listen no more if it was the last."""
        assert self.listener is not None
        connection, _ = self.listener.accept()
        wanted = os.getuid() if self._order.uid is None else self._order.uid
        if _peer_uid(connection) != wanted:
            connection.close()
            return
        environment = dict(_environment_from(connection))
        rank = environment.get("OMPI_COMM_WORLD_RANK", "")
        free = {str(number) for number in range(self._order.ranks)} - set(map(str, self._stubs))
        if rank not in free:
            connection.close()
            return
        self._stubs[int(rank)] = connection
        self._fork_rank(int(rank), environment)
        if len(self._stubs) == self._order.ranks:
            self.listener.close()
            self.listener = None

    def ended(self, pid: int, status: int) -> dict[str, Any] | None:
        """Return what the judge is told of the end of a process; tell its stub as well."""
        code = os.waitstatus_to_exitcode(status)
        if pid == self._mpirun:
            return {"mpirun": code}
        rank = self._pids.pop(pid, None)
        if rank is None:
            return None
        if rank in self._stubs:
            with contextlib.suppress(OSError):
                self._stubs[rank].sendall(str(code).encode())
                self._stubs[rank].shutdown(socket.SHUT_WR)
        return {"rank": rank, "status": code, "left": len(self._pids)}

    def close(self) -> None:
        """Let go of what is open."""
        os.close(self._log)
        for connection in [*self._stubs.values(), *([self.listener] if self.listener else [])]:
            connection.close()


def _peer_uid(connection: socket.socket) -> int:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
    return int(_PEER_CREDENTIALS.unpack(raw)[1])


def _environment_from(connection: socket.socket) -> Iterator[tuple[str, str]]:
    """Yield the variables of a stub that a rank takes over."""
    connection.settimeout(_PATIENCE_S)
    raw = b""
    with contextlib.suppress(OSError):
        while chunk := connection.recv(1 << 16):
            raw += chunk
    for entry in raw.split(b"\0"):
        name, _, value = os.fsdecode(entry).partition("=")
        if name.startswith(_FROM_STUBS):
            yield name, value
