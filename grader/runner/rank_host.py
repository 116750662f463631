"""Where the zygote and its ranks live: beside the judge, or in a container of their own.

Either way three pipes lead to it: its standard input, output and error.
"""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grader.environment import RANKS_FOLDER
from grader.errors import GraderError, RanksGone
from grader.zygote.local_sockets import peer

_PROGRAM = Path(__file__).resolve().parents[1] / "zygote" / "__main__.py"
_RANK_SOURCE = Path(__file__).resolve().parents[1] / "rank"
_SOCKET = "zygote.sock"
"""The name that grader.zygote.listening gives its socket."""
_CONNECT_LIMIT_S = 60.0
_TICK_S = 0.02
_ENDING_S = 1.0
_SEND_LIMIT_S = 30.0


@dataclass(frozen=True)
class Zygote:
    """The judge's ends of the three pipes."""

    process: subprocess.Popen[bytes] | None
    """The zygote, where it is our child."""
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
        if self.process is not None:
            try:
                self.process.wait(max(0.0, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return words.decode(errors="replace").strip()


class RankHost(Protocol):
    """Where a zygote can be started."""

    @property
    def folder(self) -> Path | None:
        """Return the folder that the ranks see as well; None where they see what we see."""

    def start(self, environment: Mapping[str, str], modules: Sequence[str]) -> Zygote:
        """Start a zygote that imports the modules. Raises GraderError when that fails."""

    def require(self) -> None:
        """Raise RanksGone when no zygote can be started any more."""


def from_environment(environment: Mapping[str, str]) -> RankHost:
    """Return where ranks are to run, as the process that started us says."""
    folder = environment.get(RANKS_FOLDER)
    return ContainerHost(Path(folder)) if folder else LocalHost()


class LocalHost:
    """Beside the judge: the zygote is its child."""

    folder: Path | None = None

    def start(self, environment: Mapping[str, str], modules: Sequence[str]) -> Zygote:
        """Start a zygote as our child."""
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
            return Zygote(process, *ours)

    def require(self) -> None:
        """Do nothing: this host lasts as long as we do."""


class ContainerHost:
    """In a container with nothing of the judge's, reached by a socket in a folder of both.

    One connection for as long as the judge lives: its end is the end of that container.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Path | None = folder
        self._socket = folder / _SOCKET
        self._connection: socket.socket | None = None

    def start(self, environment: Mapping[str, str], modules: Sequence[str]) -> Zygote:
        """Have a zygote started there, with our pipes for its standard streams.

        Raises RanksGone when there is nobody any more, GraderError when nobody ever came.
        """
        order = {"environment": dict(environment), "modules": list(modules)}
        with _pipes() as (ours, theirs):
            try:
                if self._connection is None:
                    self._connection = self._connect()
                message = json.dumps(order).encode() + b"\n"
                sent = socket.send_fds(self._connection, [message], theirs)
                self._connection.sendall(message[sent:])
            except OSError as error:
                raise RanksGone(error.strerror) from None
            return Zygote(None, *ours)

    def require(self) -> None:
        """Raise RanksGone when the other end of the connection is closed, or is so in a moment.

        The processes of a container that is killed do not end all at once.
        """
        if self._connection is None:
            return
        if select.select([self._connection], [], [], _ENDING_S)[0]:
            raise RanksGone("its connection was closed")

    def _connect(self) -> socket.socket:
        """Return a connection to the other container, which may have started after us.

        Raises GraderError when there is none after a minute, or when a stranger answers.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        deadline_s = time.monotonic() + _CONNECT_LIMIT_S
        while True:
            try:
                connection.connect(str(self._socket))
                break
            except (FileNotFoundError, ConnectionRefusedError) as error:
                if time.monotonic() > deadline_s:
                    raise GraderError(
                        f"the container of the ranks did not answer for {_CONNECT_LIMIT_S:.0f} s "
                        f"at {self._socket} ({error.strerror}); is it the image `grade-ranks`?"
                    ) from None
                time.sleep(_TICK_S)
        if peer(connection)[1] != os.getuid():
            raise GraderError(f"at {self._socket} somebody else answers than the zygote")
        return connection


@contextlib.contextmanager
def _pipes() -> Iterator[tuple[list[int], list[int]]]:
    """Yield (the judge's ends, the zygote's ends), which are closed here at the end.

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
