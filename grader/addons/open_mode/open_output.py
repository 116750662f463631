"""What each rank of an open session prints in a case: kept apart, and shown one rank at a time."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence

_MAX_SHOWN_NUM_BYTES = 1 << 16


@contextlib.contextmanager
def printing_to(descriptor: int) -> Iterator[None]:
    """Let everything that this process prints go to an empty file, also what C code prints."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    before = sys.stdout, sys.stderr
    for stream in before:
        stream.flush()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    text = io.TextIOWrapper(
        os.fdopen(os.dup(descriptor), "wb"),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = sys.stderr = text
    try:
        yield
    finally:
        text.close()
        sys.stdout, sys.stderr = before
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)


def printed_in(descriptor: int) -> str:
    """Return what such a file holds, or the end of it where that is long."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - _MAX_SHOWN_NUM_BYTES)
    text = os.pread(descriptor, size - start, start).decode(errors="replace")
    return f"... ({start} bytes before)\n{text}" if start else text


def told(title: str, outputs: Sequence[str]) -> str:
    """Return what the ranks have printed, in their order; empty where none has.

    title: what ran; empty where it has been told. outputs: one a rank.
    """
    lines = []
    for rank, output in enumerate(outputs):
        if output.strip():
            lines += [f"rank {rank} printed:", *(f"    {line}" for line in output.splitlines())]
    heading = [f"-- {title}"] if title else []
    return "\n".join([*heading, *lines]) if lines else ""
