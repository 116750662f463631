"""What a grading has found so far, told as it goes: a killed judge loses one test at most.

The judge writes a line when a test starts and one when it has ended: within a container on standard
error, elsewhere to a pipe. Who watches it keeps them and gives them to a fresh judge, which takes
the ended tests as they are. Between them the judge says, a step ahead, by when it will have moved.
"""

import dataclasses
import json
import math
import secrets
import struct
from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import msgspec

from grader.model.errors import UsageError
from grader.model.report import RunFailure, TestResult

PREFIX = "journal: "
MAX_LINE_NUM_BYTES = 256 << 10
JUDGING_S = 300.0
"""What the judge does without ranks may take: imports, an oracle, rules. It takes seconds at most,
and many times that on a machine with many gradings."""
_MAX_DETAIL_CHARS = 16_000
"""What a detail is cut to where a line would be too long; as JSON, a character is up to twelve."""
_MAX_PACKED_NUM_BYTES = 128 << 20
_LENGTH = struct.Struct(">Q")


@dataclass(frozen=True)
class Step:
    """One test in one grading of its part."""

    part: str
    suite: str
    replaced: str
    """The part whose file is our stand-in; empty when all is the student's own."""
    test: str


@dataclass(frozen=True)
class Finished:
    """A test that has ended, and all that later tests of its part depend on."""

    step: Step
    result: TestResult
    root: str
    """The failed test at the root of this failure; empty when it holds."""
    ended: RunFailure | None
    """Why no more runs of the part are worth starting."""
    num_launches: int
    """Of the part, up to here."""
    refusals: tuple[str, ...] = ()
    """What the guard refused in the part up to here, in sentences."""
    starts: tuple[tuple[str, int], ...] = ()
    """How often ranks were started for each launch up to here; its name says nothing of it."""


@dataclass(frozen=True)
class Failing:
    """A test in progress has had ranks that failed; it goes on with what is left of its cases."""

    step: Step
    result: TestResult
    """What it comes to where nothing worse is found."""


@dataclass(frozen=True)
class Heartbeat:
    """The judge moves, and says what it begins and by when it will have moved again."""

    doing: str
    """In words, such as `a case`; nothing of a hidden test."""
    within_s: float
    """From now. A test that starts or ends is a sign of life as well, and grants JUDGING_S."""


@dataclass(frozen=True)
class WholeLimit:
    """By when the whole grading will have ended, from its first word on."""

    within_s: float


@dataclass(frozen=True)
class Lost:
    """The judge cannot go on where it is, but may elsewhere."""

    why: str


Told = Step | Finished | Failing | Heartbeat | WholeLimit | Lost
"""What a line of the journal says; a Step has started."""
_KINDS = {
    **{"started": Step, "finished": Finished, "failing": Failing},
    **{"beat": Heartbeat, "whole": WholeLimit, "lost": Lost},
}


@dataclass(frozen=True)
class Resume:
    """What the judge in a container is told of those before it."""

    key: str = field(default_factory=lambda: secrets.token_hex(16))
    """Begins every line of the journal; only the judge and its client know it."""
    finished: tuple[Finished, ...] = ()
    lost: tuple[tuple[Step, str], ...] = ()
    """Tests that are not tried again, each with why."""
    gave_up: str = ""
    """Why no test at all is tried again; empty when they are."""
    notes: tuple[str, ...] = ()
    """For the report."""


class Journal:
    """The judge's end."""

    def __init__(
        self,
        resume: Resume | None = None,
        write: Callable[[str], None] = lambda line: None,
        on_finished: Callable[[Finished | Failing], None] = lambda told: None,
        on_started: Callable[[Step], None] = lambda step: None,
    ) -> None:
        """write: takes each line, of at most MAX_LINE_NUM_BYTES, ASCII and without its end."""
        self._resume = resume or Resume()
        self._write = write
        self._on_finished = on_finished
        self._on_started = on_started

    def started(self, step: Step) -> None:
        """Say that a test is in progress."""
        self._on_started(step)
        self._say(step)

    def finished(self, finished: Finished) -> None:
        """Say what became of a test."""
        self._on_finished(finished)
        # What was seen of what ended the part is told of the test that it ended.
        ended = finished.ended and replace(finished.ended, evidence=None)
        self._say(replace(finished, ended=ended))

    def failing(self, failing: Failing) -> None:
        """Say that ranks of the test in progress failed, before it ends."""
        self._on_finished(failing)
        self._say(replace(failing, result=replace(failing.result, detail="", evidence=None)))

    def beat(self, doing: str, within_s: float = JUDGING_S) -> None:
        """Say what begins, and by when we will have said something again."""
        self._say(Heartbeat(doing, within_s))

    def limit_whole(self, within_s: float) -> None:
        """Say by when the grading will have ended."""
        self._say(WholeLimit(within_s))

    def lost(self, why: str) -> None:
        """Say that this grading cannot go on here."""
        self._say(Lost(why))

    def kept(self, steps: Set[Step]) -> list[Finished]:
        """Return those of the tests that have ended, in their order."""
        return [each for each in self._resume.finished if each.step in steps]

    @property
    def has_kept(self) -> bool:
        """Return whether tests have ended in a judge that was followed by this one."""
        return bool(self._resume.finished)

    def why_lost(self, step: Step) -> str:
        """Return why a test is not to be tried; empty when it is."""
        return dict(self._resume.lost).get(step, self._resume.gave_up)

    def _say(self, told: Told) -> None:
        line = self._line(told)
        if len(line) > MAX_LINE_NUM_BYTES and isinstance(told, Finished):
            line = self._line(_shortened(told))
        self._write(line)

    def _line(self, told: Told) -> str:
        name = next(name for name, kind in _KINDS.items() if isinstance(told, kind))
        return PREFIX + json.dumps({"key": self._resume.key, name: dataclasses.asdict(told)})


def _shortened(finished: Finished) -> Finished:
    result, ended = finished.result, finished.ended
    result = replace(result, detail=result.detail[:_MAX_DETAIL_CHARS], evidence=None)
    ended = ended and replace(ended, detail=ended.detail[:_MAX_DETAIL_CHARS])
    return replace(finished, result=result, ended=ended)


def parse(line: str, key: str) -> Told | None:
    """Return what a line of the journal tells, without its prefix; None where others wrote it."""
    try:
        data = json.loads(line)
        if not isinstance(data, dict) or not secrets.compare_digest(str(data.get("key")), key):
            return None
        name = next(name for name in _KINDS if name in data)
        told: Told = msgspec.convert(data[name], _KINDS[name])
    except (KeyError, RecursionError, StopIteration, TypeError, ValueError):
        return None
    result = told.result if isinstance(told, Finished | Failing) else None
    marks = (result.points, result.max_points) if result is not None else ()
    # What JSON calls NaN is not at least 0 either.
    return told if all(0 <= mark < math.inf for mark in marks) else None


def pack(resume: Resume) -> bytes:
    """Return what the client sends: the length in eight bytes, then JSON."""
    packed = json.dumps(dataclasses.asdict(resume)).encode()
    return _LENGTH.pack(len(packed)) + packed


def read(stream: BinaryIO) -> Resume:
    """Return what a client has packed. Raises UsageError for anything else."""
    head = stream.read(_LENGTH.size)
    length = int(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else 0
    if not 0 < length <= _MAX_PACKED_NUM_BYTES:
        raise UsageError(
            "the client sent no journal; use an image and a grader of the same release"
        )
    try:
        data = json.loads(stream.read(length))
        if "key" not in data:
            raise ValueError("it has no key")
        return msgspec.convert(data, Resume)
    except (RecursionError, TypeError, ValueError) as error:
        raise UsageError(f"the journal of `grade run` cannot be read: {error}") from None
