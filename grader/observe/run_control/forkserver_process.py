"""The forkserver's process, as its parent holds it: a child, with a pipe to each stream."""

import contextlib
import os
import select
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PROGRAM = Path(__file__).resolve().parents[1] / "forkserver" / "__main__.py"
_RANK_SOURCE = Path(__file__).resolve().parents[2] / "rank"
_SEND_LIMIT_S = 30.0


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
