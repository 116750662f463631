"""Starts the process that reads a submission, and takes its answer for what it is."""

import contextlib
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from grader.intake.answer import DEADLINE_S, MAX_NUM_BYTES, message_in
from grader.intake.archives import names
from grader.intake.submission import Submission
from grader.intake.submission_codec import submission_of
from grader.model.errors import GraderError, UsageError

_PROGRAM = Path(__file__).resolve().parent / "__main__.py"
_MAX_DIGITS = 9


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
    found = message_in(str(path), *_asked(uid, ["path", str(path), *wanted], b""))
    return submission_of(str(path), found)


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
        )
    except (OSError, ValueError) as error:
        raise GraderError(f"the submission reader cannot start: {error}") from None
    with process:
        try:
            yield process
        finally:
            process.kill()


def _answer(process: subprocess.Popen[bytes], data: bytes) -> tuple[bytes, int | None]:
    """Hand over the data; return what is answered and the exit code, None if time is up."""
    assert process.stdin is not None and process.stdout is not None
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    deadline = threading.Timer(DEADLINE_S, end)
    deadline.start()
    # In a thread: it may answer before it has read all.
    threading.Thread(target=_send, args=(process.stdin, data), daemon=True).start()
    try:
        answer = process.stdout.read(MAX_NUM_BYTES + 1)
        if len(answer) > MAX_NUM_BYTES:
            return answer, 0
        exit_code = process.wait()
        return answer, None if is_late.is_set() else exit_code
    finally:
        deadline.cancel()


def _send(stdin: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), stdin:  # nobody may read it
        stdin.write(data)
