"""The judge's end of the zygote: one process for a whole grading, from which all ranks are forked.

Starting Python with numpy costs a rank 0.15 s of CPU time, with torch 1.5 s; forking it costs a few
milliseconds.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from grader.errors import GraderError, LaunchError
from grader.runner.machine import libraries, mpirun
from grader.trace import build

_SOURCE = Path(__file__).resolve().parent / "zygote" / "__main__.py"
_RANK_SOURCE = Path(__file__).resolve().parents[1] / "rank"
_ALWAYS = ("numpy", "mpi4py.MPI")
_ALSO = {"torch": ("torch._dynamo",)}
"""What a package imports only when it is used: torch.distributed this, for over a second."""
_IMPORT_LIMIT_S = 120.0
_KILL_LIMIT_S = 30.0


class ForkServer:
    """Starts and ends runs, one at a time. Use as a context manager; started when first needed."""

    def __init__(self, modules: Sequence[str] = ()) -> None:
        """modules: what the ranks of this assignment import, beside numpy and mpi4py."""
        later = [each for module in modules for each in _ALSO.get(module, ())]
        self._modules = (*_ALWAYS, *modules, *later)
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._mpirun_status: int | None = None
        self._rank_statuses: dict[int, int] = {}
        self._left = -1

    def __enter__(self) -> "ForkServer":
        return self

    def start(self, order: Mapping[str, Any]) -> None:
        """Start a run; `order` has the fields of the zygote's Order.

        Raises GraderError when the zygote cannot be started or has died.
        """
        if self._process is None:
            self._start_zygote()
        self._mpirun_status, self._rank_statuses, self._left = None, {}, -1
        self._say({"run": dict(order)})

    def ended(self) -> int | None:
        """Return the exit status of mpirun, or of the last rank where there is none; else None.

        A process that was ended by a signal has 128 more than the signal's number.
        """
        self._listen(0.0)
        if self._mpirun_status is not None:
            return self._mpirun_status
        if self._left == 0:
            return max((_as_shells_do(each) for each in self._rank_statuses.values()), default=0)
        return None

    def status_of(self, rank: int) -> int | None:
        """Return the exit status of one rank as the shell counts, or None while it lives."""
        self._listen(0.0)
        status = self._rank_statuses.get(rank)
        return None if status is None else _as_shells_do(status)

    def end(self) -> None:
        """End every process of the run.

        Raises GraderError when one would not die.
        """
        if self._process is None:
            return
        self._say({"end": True})
        deadline_s = time.monotonic() + _KILL_LIMIT_S
        while not self._listen(0.2, until="ended"):
            if time.monotonic() > deadline_s:
                self.close()
                raise GraderError(
                    f"processes of a run were still alive {_KILL_LIMIT_S:.0f} s after being killed"
                )

    def close(self) -> None:
        """End the zygote, and with it a run that has not ended."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(_KILL_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start_zygote(self) -> None:
        packages = sysconfig.get_path("purelib")
        command = [sys.executable, "-I", "-S", str(_SOURCE), packages, str(_RANK_SOURCE)]
        self._process = subprocess.Popen(  # noqa: S603 - our own command line
            [*command, *self._modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        )
        self._unread = b""
        deadline_s = time.monotonic() + _IMPORT_LIMIT_S
        while not self._listen(0.2, until="ready"):
            if time.monotonic() > deadline_s:
                self.close()
                raise GraderError(
                    f"importing {', '.join(self._modules)} took more than {_IMPORT_LIMIT_S:.0f} s"
                )

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._death() from None

    def _listen(self, patience_s: float, until: str = "") -> bool:
        """Take note of what the zygote says; return whether it has said `until`.

        Raises LaunchError when it has died.
        """
        if self._process is None:
            return False
        assert self._process.stdout is not None
        out = self._process.stdout.fileno()
        while select.select([out], [], [], patience_s)[0]:
            data = os.read(out, 1 << 16)
            if not data:
                raise self._death()
            *lines, self._unread = (self._unread + data).split(b"\n")
            said = [json.loads(line) for line in lines]
            for message in said:
                self._note(message)
            if any(until in message for message in said):
                return True
            patience_s = 0.0
        return False

    def _note(self, message: dict[str, Any]) -> None:
        if "mpirun" in message:
            self._mpirun_status = _as_shells_do(message["mpirun"])
        elif "rank" in message:
            self._rank_statuses[message["rank"]] = message["status"]
            self._left = message["left"]

    def _death(self) -> LaunchError:
        """Return what to raise when the zygote has gone; the next run gets a new one."""
        assert self._process is not None
        process = self._process
        said = process.stderr.read().decode(errors="replace") if process.stderr else ""
        self.close()
        lines = said.strip().splitlines()
        return LaunchError(f"the process that forks ranks ended: {lines[-1] if lines else '?'}")


def _as_shells_do(status: int) -> int:
    return 128 - status if status < 0 else status


def _environment() -> dict[str, str]:
    """Return what the imports in the zygote need; each run brings an environment of its own."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "LD_PRELOAD": str(build.library()),
        "LD_LIBRARY_PATH": libraries(mpirun()),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
