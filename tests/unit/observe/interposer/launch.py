"""Runs small MPI programs under the interposer, and is their judge."""

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from grader.observe.interposer.memory import Snapshot, TraceMemory
from grader.trace.calls import Call, RankTrace

_PRELUDE = """
import os, socket, sys
judge = socket.socket(socket.AF_UNIX)
judge.connect(sys.argv[1])
judge.send(bytes([int(os.environ["OMPI_COMM_WORLD_RANK"])]))
os.environ["GRADER_TRACE_FD"] = str(socket.recv_fds(judge, 1, 1)[1][0])
with open(sys.argv[2]) as program:
    code = compile(program.read(), sys.argv[2], "exec")
exec(code, {"judge": judge, "__name__": "__main__"})
"""
_OPTIONS = (
    *("--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
    *("--mca", "btl", "self,sm", "--mca", "mpi_yield_when_idle", "1"),
)
_UNMONITORED = ("--mca", "pml", "ob1")
_MONITORED = (
    *("--mca", "pml", "ob1,monitoring", "--mca", "pml_monitoring_enable", "2"),
    *("--mca", "coll", "^monitoring", "--mca", "osc", "^monitoring"),
)
LIMIT_S = 60.0
"""Far beyond what any of these programs takes, so that a busy machine fails no test."""
_START_LIMIT_S = 30.0
_PATIENCE_S = 5.0
"""How long mpirun may take to end once its ranks are dead."""


class Launch:
    """One mpirun whose ranks have got their memories over a socket. Use as a context manager."""

    def __init__(
        self,
        folder: Path,
        interposer: Path,
        program: str,
        ranks: int,
        *,
        synchronous_sends: bool = False,
        num_records: int = 1 << 12,
        is_monitored: bool = True,
    ) -> None:
        self.program = folder / "program.py"
        self.program.write_text(textwrap.dedent(program))
        (folder / "prelude.py").write_text(_PRELUDE)
        self._folder = folder
        self._options = (*_OPTIONS, *(_MONITORED if is_monitored else _UNMONITORED))
        # One start in some thousands fails, for reasons that are mpirun's own.
        for _ in range(2):
            self.memories = [TraceMemory.create(num_records) for _ in range(ranks)]
            for memory in self.memories:
                memory.set_synchronous_sends(synchronous_sends)
            self._start(interposer, ranks)
            if self._accept_all():
                return
            self.close()
        raise AssertionError(f"mpirun did not start {ranks} ranks: {self.output()}")

    def _start(self, interposer: Path, ranks: int) -> None:
        self.pids = [0] * ranks
        self._connections = [socket.socket() for _ in range(ranks)]
        socket_path = self._folder / "judge.sock"
        socket_path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(socket_path))
        self._listener.listen(ranks)
        self._listener.settimeout(0.1)
        mpirun = shutil.which("mpirun", path=Path(sys.executable).parent) or "mpirun"
        # What has to be loaded first, where `-p tests.sanitized` has set it.
        preloaded = ":".join(filter(None, (os.environ.get("GRADER_SANITIZER"), str(interposer))))
        with (self._folder / "output").open("w") as output:
            self._mpirun = subprocess.Popen(
                [
                    *(mpirun, *self._options, "-n", str(ranks), "-x", f"LD_PRELOAD={preloaded}"),
                    *(sys.executable, "-I", str(self._folder / "prelude.py"), str(socket_path)),
                    str(self.program),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _accept_all(self) -> bool:
        """Give each rank its memory; return False when they do not come."""
        deadline = time.monotonic() + _START_LIMIT_S
        while 0 in self.pids:
            if self._mpirun.poll() is not None or time.monotonic() > deadline:
                return False
            with contextlib.suppress(TimeoutError):
                self._serve()
        return True

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(LIMIT_S)
        rank = connection.recv(1)[0]
        socket.send_fds(connection, [b"F"], [self.memories[rank].fd])
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        self.pids[rank] = struct.unpack("3i", raw)[0]
        self._connections[rank].close()
        self._connections[rank] = connection

    def finish(self) -> list[RankTrace]:
        """Wait for the program; fail if it failed; return what each rank did."""
        status = self.wait()
        printed = self.output()
        assert status == 0, printed
        assert "grader:" not in printed, printed
        return self.read()

    def output(self) -> str:
        """Return what the ranks have printed so far."""
        return (self._folder / "output").read_text()

    def line_of(self, text: str) -> int:
        """Return the line of the program that holds the text."""
        lines = self.program.read_text().splitlines()
        (line,) = (number for number, line in enumerate(lines, 1) if text in line)
        return line

    def say(self, rank: int) -> None:
        """Send a byte to a rank, for which its program waits with `judge.recv(1)`."""
        self._connections[rank].send(b".")

    def hear(self, rank: int) -> None:
        """Wait for a byte of a rank, which its program sends with `judge.send(b".")`."""
        assert self._connections[rank].recv(1) == b".", self.output()

    def kill(self, rank: int) -> None:
        """End a rank as the out-of-memory killer would."""
        os.kill(self.pids[rank], signal.SIGKILL)
        self._mpirun.wait(LIMIT_S)

    def wait(self) -> int:
        """Wait for the program, however it ends; return its exit status."""
        return self._mpirun.wait(LIMIT_S)

    def read(self) -> list[RankTrace]:
        """Return what each rank has done so far."""
        return [memory.read() for memory in self.memories]

    def until(self, condition: Callable[[list[Snapshot]], bool]) -> None:
        """Look at all ranks until the condition holds of them."""
        deadline = time.monotonic() + LIMIT_S
        while not condition([memory.snapshot() for memory in self.memories]):
            assert time.monotonic() < deadline, [memory.snapshot() for memory in self.memories]
            time.sleep(0.01)

    def __enter__(self) -> "Launch":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End whatever still runs, and let go of everything."""
        if self._mpirun.poll() is None:
            for pid in filter(None, self.pids):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            try:
                self._mpirun.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                # It sometimes waits for ever for a rank that was killed in MPI_Finalize.
                os.killpg(self._mpirun.pid, signal.SIGKILL)
                self._mpirun.wait(LIMIT_S)
        for closed in (*self._connections, self._listener, *self.memories):
            closed.close()


def named(trace: RankTrace, *functions: str) -> list[Call]:
    """Return the calls of these functions."""
    return [call for call in trace.calls if call.function in functions]
