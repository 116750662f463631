"""Only one command at a time writes into the folder of a class."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from grader.model.errors import UsageError

_NAME = ".in-use"


@contextlib.contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Hold the folder; the system lets go of it however the command ends.

    Raises UsageError where another command has it: each would tidy away what the other writes.
    """
    descriptor = os.open(out / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(
            f"another `grade class` is running in {out}; wait until it ends, or name another --out"
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)
