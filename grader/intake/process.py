"""Starts the process that reads a submission, and takes its answer for what it is."""

import os
import selectors
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.intake.answer import DEADLINE_S, MAX_NUM_BYTES, message_in, submission_in
from grader.intake.archives import names
from grader.intake.submission import Submission
from grader.model.errors import GraderError, UsageError

_PROGRAM = Path(__file__).resolve().parent / "__main__.py"
_CHUNK_NUM_BYTES = 1 << 16
_MAX_DIGITS = 9
_PATIENCE_S = 5.0
"""For a process that was killed."""


def read(path: Path, wanted: Iterable[str], uid: int | None = None) -> Submission:
    """Read a folder, zip or tar in a process of its own; see grader.intake.submission.read.

    uid: who that process is where the owner of `path` is root, else it is the owner; None where it
    is who we are. Raises UsageError when there is nothing to grade, GraderError when no process can
    be started.
    """
    if uid is not None:
        try:
            uid = path.stat().st_uid or uid
        except OSError as error:
            name = names.shortened(str(path))
            raise UsageError(f"{name} cannot be read: {error.strerror}") from None
    command = ["path", str(path), *wanted]
    return submission_in(str(path), *_asked(uid, command, b""))


def unpack(data: bytes, origin: str, uid: int | None = None) -> Submission:
    """Read what a client has sent, a message, in a process of its own.

    uid: who that process is; None where it is who we are. Raises as `read` does.
    """
    return submission_in(origin, *_asked(uid, ["message", origin], data))


def count_pages(data: bytes, name: str, uid: int | None = None) -> int:
    """Return how many pages a PDF has, counted in a process of its own.

    uid: who that process is; None where it is who we are. Raises UsageError when it is no PDF that
    can be read, GraderError when no process can be started.
    """
    packages = sysconfig.get_path("purelib")
    found = message_in(name, *_asked(uid, ["pages", name, packages], data))
    if len(found.notes) != 1 or not (found.notes[0].isascii() and found.notes[0].isdecimal()):
        raise UsageError(f"{name} cannot be read, so its pages were not counted")
    return int(found.notes[0][:_MAX_DIGITS])


def _asked(uid: int | None, arguments: list[str], data: bytes) -> tuple[bytes, int | None]:
    """Return what the process that reads answered, and its exit code."""
    command = [sys.executable, "-I", "-S", "-B", str(_PROGRAM)]
    command += ["-" if uid is None else str(uid), *arguments]
    with _started(command) as process:
        return _answer(process, data)


@contextmanager
def _started(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process with two pipes and nothing else of ours; end it in any case."""
    try:
        process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"LC_ALL": "C.UTF-8"},
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as error:
        raise GraderError(f"the process that reads submissions cannot start: {error}") from None
    with process:
        try:
            yield process
        finally:
            process.kill()


def _answer(process: subprocess.Popen[bytes], data: bytes) -> tuple[bytes, int | None]:
    """Hand over the data; return what is answered and the exit code, None if time is up."""
    assert process.stdin is not None and process.stdout is not None
    until_s = time.monotonic() + DEADLINE_S
    unsent = memoryview(data)
    answer = bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, event in (
            (process.stdin, selectors.EVENT_WRITE),
            (process.stdout, selectors.EVENT_READ),
        ):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, event)
        while True:
            ready = selector.select(max(0.0, until_s - time.monotonic()))
            if not ready:
                return bytes(answer), None
            for key, event in ready:
                if event & selectors.EVENT_WRITE:
                    unsent = _send(process, unsent)
                    if not unsent:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                elif chunk := os.read(key.fd, _CHUNK_NUM_BYTES):
                    answer += chunk
                else:
                    return bytes(answer), _exit_code(process, until_s)
            if len(answer) > MAX_NUM_BYTES:
                return bytes(answer), 0


def _send(process: subprocess.Popen[bytes], unsent: memoryview) -> memoryview:
    """Return what is still to be sent; nothing when nobody reads it."""
    assert process.stdin is not None
    try:
        return unsent[os.write(process.stdin.fileno(), unsent[:_CHUNK_NUM_BYTES]) :]
    except BlockingIOError:
        return unsent
    except BrokenPipeError:
        return unsent[:0]


def _exit_code(process: subprocess.Popen[bytes], until_s: float) -> int | None:
    try:
        return process.wait(max(_PATIENCE_S, until_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None
