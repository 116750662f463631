"""What the judge hands each rank and can read at any moment: trace, output and stack dumps."""

import os
from dataclasses import dataclass
from pathlib import Path

from grader.observe.interposer.gloo_counts import GlooCounts
from grader.observe.interposer.memory import TraceMemory

_MAX_TAIL_NUM_BYTES = 1 << 16
"""What is read of stack dumps: the innermost frame is at the beginning of each."""
NUM_TRACE_RECORDS = 1 << 15
_MOST_DIGITS = 10
_CRASH = "Fatal Python error"
"""Begins the stack dump of a signal that ends the process."""


@dataclass(frozen=True)
class RankFiles:
    """Memory of one rank that outlives it."""

    trace: TraceMemory
    output: int
    """Descriptor of what the rank printed."""
    stacks: int
    """Descriptor of what faulthandler wrote."""
    gloo: GlooCounts | None = None
    """None for ranks that the judge does not start itself."""

    @classmethod
    def create(cls) -> "RankFiles":
        """Make all of them, empty."""
        return cls(
            TraceMemory.create(NUM_TRACE_RECORDS),
            os.memfd_create("output"),
            os.memfd_create("stacks"),
            GlooCounts(),
        )

    @property
    def descriptors(self) -> list[int]:
        """Return what is passed to the rank, in the order its harness expects."""
        assert self.gloo is not None
        return [self.trace.fd, self.output, self.stacks, self.gloo.fd]

    def stacks_num_bytes(self) -> int:
        """Return how much of stack dumps there is."""
        return os.fstat(self.stacks).st_size

    def output_num_bytes(self) -> int:
        """Return how much the rank has printed."""
        return os.fstat(self.output).st_size

    def place(self, folder: str) -> tuple[str, int] | None:
        """Return file and line of the innermost frame in `folder` of the last stack that has one.

        After a crash, of the last stack.
        """
        found, is_known, has_crashed = None, False, False
        for line in _tail(self.stacks).splitlines():
            if line.startswith(("Stack ", "Thread ", "Current thread ", _CRASH)):
                has_crashed = has_crashed or line.startswith(_CRASH)
                is_known, found = False, None if has_crashed else found
            path, _, rest = line.strip().removeprefix('File "').partition('", line ')
            number = rest.split(" ", 1)[0]
            # A rank can write anything here: only files that were handed in are places.
            is_ours = path.startswith(folder + "/") and ".." not in path.split("/")
            if not is_known and is_ours and _is_line(number) and _is_file(path):
                found, is_known = (path.removeprefix(folder + "/"), int(number)), True
        return found

    def forget_stacks(self) -> None:
        """Drop the stack dumps so far, but those of a crash."""
        if not self.tells_a_crash():
            os.lseek(self.stacks, 0, os.SEEK_SET)  # of the rank as well, which shares it
            os.ftruncate(self.stacks, 0)

    def tells_a_crash(self) -> bool:
        """Return whether there is a stack dump of a crash, and not only what we asked for."""
        return any(line.startswith(_CRASH) for line in _tail(self.stacks).splitlines())

    def close(self) -> None:
        """Give the memory back."""
        self.trace.close()
        if self.gloo is not None:
            self.gloo.close()
        os.close(self.output)
        os.close(self.stacks)


def _is_line(number: str) -> bool:
    """Return whether this is a number that a line can have."""
    return number.isascii() and number.isdigit() and len(number) < _MOST_DIGITS


def _is_file(path: str) -> bool:
    """Return whether there is such a file; a name that no file can have is none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def _tail(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    start = max(0, size - _MAX_TAIL_NUM_BYTES)
    return os.pread(descriptor, _MAX_TAIL_NUM_BYTES, start).decode(errors="replace")
