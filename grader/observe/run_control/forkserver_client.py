"""The judge's end of the forkserver: one process for a grading, from which all ranks are forked.

Starting Python with numpy costs a rank 0.15 s of CPU time, with torch 1.5 s; forking it costs a few
milliseconds.
"""

import contextlib
import json
import os
import secrets
import select
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.model.errors import GraderError, GradingLost, LaunchError
from grader.observe.forkserver.processes import kill_marked
from grader.observe.interposer import build
from grader.observe.run_control.machine import libraries, mpirun

_PROGRAM = Path(__file__).resolve().parents[1] / "forkserver" / "__main__.py"
_RANK_SOURCE = Path(__file__).resolve().parents[2] / "rank"
_SEND_LIMIT_S = 30.0
_ALWAYS = ("numpy", "mpi4py.MPI")
_ALSO = {"torch": ("torch._dynamo",)}
"""What a package imports only when it is used; this one takes torch.distributed over a second."""
READY_LIMIT_S = 120.0
_KILL_LIMIT_S = 30.0
END_LIMIT_S = 2 * _KILL_LIMIT_S  # first of the run, then of the forkserver that did not end it
_ANSWER_LIMIT_S = 5.0
_COUNT_LIMIT_S = 30.0
_MARK = "GRADER_FORK_SERVER"
"""Every process of a run has this in its environment, unless it takes it out."""
_WHO = ". Either memory ran out or another program killed it. Look at this submission yourself"


@dataclass(frozen=True)
class Forkserver:
    """The judge's ends of the three pipes."""

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int

    def send(self, message: bytes) -> None:
        """Send it a message. Raises BrokenPipeError when it has gone, or reads no more."""
        os.set_blocking(self.stdin, False)
        while message:
            if not select.select([], [self.stdin], [], _SEND_LIMIT_S)[1]:
                raise BrokenPipeError
            # Less than the pipe takes at once: a longer one would be refused as a whole.
            with contextlib.suppress(BlockingIOError):
                message = message[os.write(self.stdin, message[: select.PIPE_BUF]) :]

    def close(self, patience_s: float) -> str:
        """Close its standard input, which ends it; return what it wrote to standard error."""
        os.close(self.stdin)
        words = b""
        deadline_s = time.monotonic() + patience_s
        while select.select([self.stderr], [], [], max(0.0, deadline_s - time.monotonic()))[0]:
            piece = os.read(self.stderr, 1 << 16)
            if not piece:
                break
            words += piece
        os.close(self.stdout)
        os.close(self.stderr)
        try:
            self.process.wait(max(0.0, deadline_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return words.decode(errors="replace").strip()


class RunLost(LaunchError):
    """What starts, watches and ends the ranks was itself ended: nothing is known of the run."""


class ForkserverClient:
    """Starts and ends runs, one at a time. Use as a context manager.

    Its forkserver is started by `warm_up`, or else by the first run.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        """modules: what the ranks of this assignment import, beside numpy and mpi4py."""
        later = [each for module in modules for each in _ALSO.get(module, ())]
        self._modules = (*_ALWAYS, *modules, *later)
        self._forkserver: Forkserver | None = None
        self._is_ready = False
        self._unread = b""
        self._told: dict[str, Any] = {}
        """Of the run: what the forkserver has told last, by the names of its messages."""
        self._rank_statuses: dict[int, int] = {}
        self._mark = secrets.token_hex(16)

    def __enter__(self) -> "ForkserverClient":
        return self

    def warm_up(self) -> None:
        """Have the imports begin, which take seconds, while there is still something else to do.

        What goes wrong with it goes wrong again when a run is started, and is raised then.
        """
        if self._forkserver is None:
            with contextlib.suppress(GraderError, OSError):
                self._start_forkserver()

    def start(self, order: Mapping[str, Any]) -> None:
        """Start a run; `order` has the fields of the forkserver's Order.

        Raises GraderError when the forkserver cannot be started or has died.
        """
        self._get_ready()
        self._told, self._rank_statuses = {}, {}
        environment = {**order["environment"], _MARK: self._mark}
        self._say({"run": {**order, "environment": environment}})

    def ended(self) -> int | None:
        """Return the exit status of mpirun, or of the last rank where there is none; else None.

        A process that was ended by a signal has 128 more than the signal's number.
        """
        self._listen(0.0)
        if "mpirun" in self._told:
            return _as_shells_do(self._told["mpirun"])
        return max(self._rank_statuses.values()) if self._told.get("left") == 0 else None

    def status_of(self, rank: int) -> int | None:
        """Return the exit status of one rank as the shell counts, or None while it lives."""
        self._listen(0.0)
        return self._rank_statuses.get(rank)

    def excess(self) -> dict[str, Any] | None:
        """Return what the run used too much of: `kind`, `used`, `allowed`; None if nothing."""
        self._listen(0.0)
        return self._told.get("excess")

    def run_queue_delay_s(self, *, up_to_now: bool = False) -> float:
        """Return how long the machine has kept the run waiting so far; 0 if nobody knows.

        up_to_now: ask, rather than say what was told last, which on a busy machine is a while ago.
        """
        self._listen(0.0)
        if up_to_now:
            self._say({"run_queue_delay": True})
            self._wait_for("run_queue_delay", _COUNT_LIMIT_S)
        return float(self._told.get("run_queue_delay", 0.0))

    def dump_stacks(self, ranks: Sequence[int]) -> None:
        """Have these ranks, as far as they live, write where they are."""
        self._say({"dump": list(ranks)})

    def log(self) -> str:
        """Return the end of what mpirun, and others that are no ranks, have printed."""
        with contextlib.suppress(LaunchError):
            self._told.pop("log", None)
            if self._forkserver is not None:
                self._say({"log": True})
                self._listen(_ANSWER_LIMIT_S, until="log")
        return str(self._told.get("log", ""))

    def census(self) -> Mapping[str, Any]:
        """Return what the forkserver has seen of processes since the last time: see Run.census.

        Raises LaunchError when nobody answers.
        """
        found: Mapping[str, Any] = self._counted("count", "counted", "processes")
        return found

    def carried_num_bytes(self) -> int | None:
        """Return what has gone over the loopback so far; None where it need not be the run's.

        Raises LaunchError when nobody answers.
        """
        found: int | None = self._counted("carried", "carried", "bytes")
        return found

    def _counted(self, asked: str, answer: str, what: str) -> Any:
        self._say({asked: True})
        if not self._wait_for(answer, _COUNT_LIMIT_S):
            raise LaunchError(f"the {what} of a run were not counted within {_COUNT_LIMIT_S:.0f} s")
        return self._told[answer]

    def end(self) -> None:
        """End every process of the run.

        Raises GradingLost when one would not die, or files stay: no other run may begin there.
        """
        if self._forkserver is None:
            return
        self._say({"end": True})
        if not self._wait_for("ended", _KILL_LIMIT_S):
            self.close()
            raise GradingLost(
                f"processes of a run were still alive {_KILL_LIMIT_S:.0f} s after being "
                "killed. Look at this submission yourself"
            )

    def close(self) -> None:
        """End the forkserver, and with it a run that has not ended."""
        forkserver, self._forkserver = self._forkserver, None
        if forkserver is not None:
            # It has no run to end, and would go on importing, before it is ready.
            forkserver.close(_KILL_LIMIT_S if self._is_ready else 0.0)

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_forkserver(self) -> None:
        self._forkserver = start_forkserver({**_environment(), _MARK: self._mark}, self._modules)
        self._unread, self._is_ready = b"", False

    def _get_ready(self) -> None:
        """Wait until the forkserver can fork, which is started unless there is one."""
        if self._forkserver is None:
            self._start_forkserver()
        if not self._is_ready and not self._wait_for("ready", READY_LIMIT_S):
            self.close()
            raise GraderError(
                f"importing {', '.join(self._modules)} took more than {READY_LIMIT_S:.0f} s"
            )

    def _say(self, message: dict[str, Any]) -> None:
        assert self._forkserver is not None
        try:
            self._forkserver.send(json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            raise self._death() from None

    def _wait_for(self, until: str, limit_s: float) -> bool:
        """Return whether the forkserver says `until` before time is up."""
        deadline_s = time.monotonic() + limit_s
        while not self._listen(0.2, until):
            if time.monotonic() > deadline_s:
                return False
        return True

    def _listen(self, patience_s: float, until: str = "") -> bool:
        """Take note of what the forkserver says; return whether it has said `until`.

        Raises LaunchError when it has died, or says what nobody can read.
        """
        if self._forkserver is None:
            return False
        out = self._forkserver.stdout
        while select.select([out], [], [], patience_s)[0]:
            data = os.read(out, 1 << 16)
            if not data:
                raise self._death()
            *lines, self._unread = (self._unread + data).split(b"\n")
            try:
                said = [json.loads(line) for line in lines]
            except ValueError:
                raise self._death() from None
            for message in said:
                self._note(message)
            if any(until in message for message in said):
                return True
            patience_s = 0.0
        return False

    def _note(self, message: dict[str, Any]) -> None:
        self._told |= message
        if "ready" in message:
            self._is_ready = True
        elif "rank" in message:
            self._rank_statuses[message["rank"]] = _as_shells_do(message["status"])
        elif "lost" in message:
            raise RunLost(f"{message['lost']}{_WHO}")
        elif "impossible" in message:
            raise GraderError(message["impossible"])
        elif message.get("ended") is False:
            raise GradingLost(
                "files of a run could not be removed. Look at this submission yourself"
            )

    def _death(self) -> RunLost:
        """Return what to raise when the forkserver has gone; the next run gets a new one."""
        assert self._forkserver is not None
        forkserver, self._forkserver = self._forkserver, None
        lines = forkserver.close(_KILL_LIMIT_S).splitlines()
        kill_marked(f"{_MARK}={self._mark}".encode())
        said = f": {lines[-1]}" if lines else " without any output"
        return RunLost(f"the forkserver ended{said}{_WHO}")


def _as_shells_do(status: int) -> int:
    return 128 - status if status < 0 else status


def _environment() -> dict[str, str]:
    """Return what the imports in the forkserver need; each run brings an environment of its own."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "LD_PRELOAD": str(build.library()),
        "LD_LIBRARY_PATH": libraries(mpirun()),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # It warns of addresses that have no name, as in a container without a network.
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }


def start_forkserver(environment: Mapping[str, str], modules: Sequence[str]) -> Forkserver:
    """Start a forkserver that imports the modules, as our child."""
    packages = sysconfig.get_path("purelib")
    command = [sys.executable, "-I", "-S", str(_PROGRAM), packages, str(_RANK_SOURCE)]
    with _pipes() as (ours, (stdin, stdout, stderr)):
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [*command, *modules],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=dict(environment),
            start_new_session=True,
        )
        return Forkserver(process, *ours)


@contextlib.contextmanager
def _pipes() -> Iterator[tuple[list[int], list[int]]]:
    """Yield (the judge's ends, the forkserver's ends), which are closed here at the end.

    The judge's stay open unless something goes wrong.
    """
    stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    ours, theirs = [stdin[1], stdout[0], stderr[0]], [stdin[0], stdout[1], stderr[1]]
    try:
        yield ours, theirs
    except BaseException:
        for end in ours:
            os.close(end)
        raise
    finally:
        for end in theirs:
            os.close(end)
