"""What a container says, out of Docker's multiplexed stream: a report, and lines of progress."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from grader.model.errors import GraderError
from grader.recording import journal

MAX_REPORT_NUM_BYTES = 32 << 20
MAX_LINE_NUM_BYTES = 4096
RECORDING_MARK = b"\0"
"""What the judge prints between its report and a recording."""
_CHUNK_NUM_BYTES = 64 << 10
_HEADER_NUM_BYTES = 8
_STDOUT, _STDERR = 1, 2
_JOURNAL_PREFIX = journal.PREFIX.encode()
_ERROR_PREFIX = "grade: "
"""How the command line inside begins each sentence that says why there is no report."""
_MAX_NUM_ERRORS = 1000


class BrokenOff(GraderError):
    """The output ended in the middle: the container, its engine or the connection has gone."""


class Source(Protocol):
    """Where the output of a container comes from, in Docker's multiplexed format."""

    def recv(self, max_num_bytes: int, patience_s: float, /) -> bytes:
        """Return some output, nothing at its end. Raises TimeoutError when none comes in time."""


@dataclass(frozen=True)
class Output:
    """All that a container said."""

    report: bytes
    """Its standard output, up to the first byte that no report has."""
    recording: bytes
    """What comes after that byte: what was seen of the ranks, where that was asked for."""
    errors: tuple[str, ...]
    """Why there is no report, when it said so, in sentences."""


def listen(
    source: Source,
    on_progress: Callable[[str], None],
    on_journal: Callable[[str], None],
    remaining_s: Callable[[], float],
    *,
    max_recording_num_bytes: int = 0,
) -> Output:
    """Take everything until the end; pass each line of progress and of the journal on as it comes.

    remaining_s: returns how long it may still take until the journal grants more time.
    Raises TimeoutError when that is over, GraderError when the output is too long or not what
    Docker sends, BrokenOff when its end is missing.
    """
    report = bytearray()
    lines = _Lines(on_progress, on_journal)

    def recv(max_num_bytes: int) -> bytes:
        patience_s = remaining_s()
        if patience_s <= 0:
            raise TimeoutError
        return source.recv(max_num_bytes, patience_s)

    for stream, data in _pieces(recv):
        if stream == _STDERR:
            lines.take(data)
            continue
        report += data
        if len(report) > MAX_REPORT_NUM_BYTES + max_recording_num_bytes:
            raise GraderError(
                "the grading container printed more than a report can hold "
                f"({(MAX_REPORT_NUM_BYTES + max_recording_num_bytes) >> 20} MiB)"
            )
    lines.take(b"\n")
    found, recording = bytes(report), b""
    if max_recording_num_bytes:
        found, _, recording = found.partition(RECORDING_MARK)
    return Output(found, recording, tuple(filter(None, lines.errors)))


def _pieces(recv: Callable[[int], bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield (stream, data) as it comes, out of Docker's frames."""
    while header := _header(recv):
        stream, missing = header[0], int.from_bytes(header[4:], "big")
        if stream not in (_STDOUT, _STDERR) or any(header[1:4]):
            raise GraderError("Docker's answer is not multiplexed, as if the container had a TTY")
        while missing:
            data = recv(min(missing, _CHUNK_NUM_BYTES))
            if not data:
                raise BrokenOff("the output of the grading container ended early")
            missing -= len(data)
            yield stream, data


def _header(recv: Callable[[int], bytes]) -> bytes:
    """Return the next frame's header, nothing at the end."""
    data = b""
    while len(data) < _HEADER_NUM_BYTES:
        more = recv(_HEADER_NUM_BYTES - len(data))
        if not more:
            if data:
                raise BrokenOff("the output of the grading container ended early")
            break
        data += more
    return data


class _Lines:
    """Standard error, line by line; what would steer a terminal is left out."""

    def __init__(
        self, on_progress: Callable[[str], None], on_journal: Callable[[str], None]
    ) -> None:
        self._on_progress = on_progress
        self._on_journal = on_journal
        self._line = bytearray()
        self.errors: deque[str] = deque(maxlen=_MAX_NUM_ERRORS)

    def take(self, data: bytes) -> None:
        for piece in data.splitlines(keepends=True):
            self._line += piece.rstrip(b"\r\n")
            is_journal = self._line.startswith(_JOURNAL_PREFIX)
            del self._line[journal.MAX_LINE_NUM_BYTES if is_journal else MAX_LINE_NUM_BYTES :]
            if piece.endswith((b"\n", b"\r")):
                self._end_line()

    def _end_line(self) -> None:
        text = self._line.decode(errors="replace")
        self._line.clear()
        # Progress may repeat a student's words.
        text = "".join(character for character in text if character.isprintable())
        if text.startswith(journal.PREFIX):
            self._on_journal(text.removeprefix(journal.PREFIX))
        elif text.startswith(_ERROR_PREFIX):
            self.errors.append(text.removeprefix(_ERROR_PREFIX))
        elif text:
            self._on_progress(text)
