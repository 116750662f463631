"""How a submission enters the container: the course secret, a message, and a client that stays.

Both are preceded by their length in eight bytes; without a secret the first length is 0.

The stream is standard input, so that a folder only its owner may read can be graded by a judge
without that right. It stays open after the message: its end says that the client has gone.
"""

import os
import struct
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

from grader.intake import submission_codec
from grader.intake.submission import Submission
from grader.model.errors import GraderError, UsageError

_MAX_SECRET_NUM_BYTES = 4096
_LENGTH = struct.Struct(">Q")
_LEAVING_S = 60.0
"""What we may take to end in order when the client has gone."""


def pack_secret(secret: bytes) -> bytes:
    """Return what the client sends first. Raises UsageError for a secret that is too long."""
    if len(secret) > _MAX_SECRET_NUM_BYTES:
        raise UsageError(
            f"the course secret is {len(secret)} bytes long; the limit is {_MAX_SECRET_NUM_BYTES}"
        )
    return _LENGTH.pack(len(secret)) + secret


def read_secret(stream: BinaryIO) -> bytes:
    """Return the course secret that a client sends first; empty when it has none."""
    return _read_piece(stream, "course secret", _MAX_SECRET_NUM_BYTES)


def pack(submission: Submission) -> bytes:
    """Return what the client sends for a submission: the length, then the message.

    It holds all files as found here: a second choice among them could differ from the first.
    """
    message = b"".join(submission_codec.pack(submission_codec.of_submission(submission)))
    return _LENGTH.pack(len(message)) + message


def read_submission(stream: BinaryIO, origin: str) -> Submission:
    """Return the submission that a client sends. Raises UsageError for none, or a broken one."""
    data = _read_piece(stream, "submission", submission_codec.MAX_NUM_BYTES)
    try:
        return submission_codec.submission_of(origin, submission_codec.unpack(data))
    except submission_codec.BrokenMessageError as error:
        raise UsageError(f"{origin} arrived damaged: it contains {error}") from None


def when_client_leaves(
    file_descriptor: int, leave: Callable[[], None], patience_s: float = _LEAVING_S
) -> None:
    """Call `leave`, in a thread of its own, as soon as the stream ends.

    Reads the descriptor itself: a thread that waits in sys.stdin would stop Python from exiting.
    If `leave` does not end this process, because the main thread is blocked, we end it ourselves.
    patience_s: how long after `leave`.
    """

    def wait() -> None:
        while os.read(file_descriptor, 4096):
            pass
        leave()
        time.sleep(patience_s)
        os._exit(GraderError.exit_code)

    threading.Thread(target=wait, name="client", daemon=True).start()


def _read_piece(stream: BinaryIO, what: str, max_num_bytes: int) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise UsageError(
            f"no {what} arrived on standard input; only `grade run DIR` uses --from-stdin"
        )
    (num_bytes,) = _LENGTH.unpack(head)
    if num_bytes > max_num_bytes:
        raise UsageError(f"the {what} is {num_bytes} bytes long; the limit is {max_num_bytes}")
    data = stream.read(num_bytes)
    if len(data) < num_bytes:
        raise UsageError(f"the {what} ended after {len(data)} of {num_bytes} bytes")
    return data
