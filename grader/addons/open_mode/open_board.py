"""What the ranks of an open session, and whoever watches over them, say of each other."""

import json
import mmap
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from grader.grading_plugin.relaunch import ranks_text
from grader.judge.explanation.launch_end import failure_of_end
from grader.judge.traffic.object_calls import name_lower_case
from grader.judge.values.result_forms import refuse
from grader.model.report import Outcome, RunFailure, Verdict
from grader.observe.interposer.memory import TraceMemory
from grader.observe.run_control.rank_files import NUM_TRACE_RECORDS, RankFiles
from grader.observe.run_control.rank_messages import Frame
from grader.recording.launch_plan import CaseCall
from grader.recording.observation import End, EndKind, LaunchObservation, RankEnd
from grader.trace.calls import RankTrace, Trace

FOLDER_VARIABLE = "GRADER_OPEN"
"""The variable that names the folder of the session, where somebody watches over it."""
SCRATCH = "scratch"
"""The folder in there in which ranks work."""
_BOARD = "board"
_WORDS = ("pid", "state", "case", "first_sequence")
_NUM_WORDS = len(_WORDS)
_WORD_NUM_BYTES = 8
_NOT_ENDED = -1


def share_memory(folder: Path, ranks: int) -> list[RankFiles]:
    """Make the memory of all ranks, which outlives them; each finds its own in the folder."""
    made = []
    for rank in range(ranks):
        trace = TraceMemory.create(NUM_TRACE_RECORDS)
        files = RankFiles(trace, os.memfd_create("output"), os.memfd_create("stacks"))
        numbers = {"trace": trace.fd, "output": files.output, "stacks": files.stacks}
        for name, number in numbers.items():
            (folder / f"{name}-{rank}").symlink_to(f"/proc/{os.getpid()}/fd/{number}")
        made.append(files)
    return made


def own_memory(name: str) -> int:
    """Return what this rank shares with who watches over it; where nobody does, memory of its own.

    name: `trace`, `output` or `stacks`.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is not None:
        return os.open(f"{folder}/{name}-{os.environ['OMPI_COMM_WORLD_RANK']}", os.O_RDWR)
    if name == "trace":
        return TraceMemory.create(NUM_TRACE_RECORDS).fd
    return os.memfd_create(name)


class State(IntEnum):
    """How far a rank has come with the case that runs."""

    IDLE = 0
    IN_CASE = 1
    RETURNED = 2
    RAISED = 3


@dataclass(frozen=True)
class RunningCase:
    """The case that runs, in what a student reads of it and in what judging it takes."""

    number: int
    test: str
    label: str
    ranks: int
    limit_s: float
    """0 for as long as anybody likes to look at it in a debugger."""
    entry: str

    @property
    def title(self) -> str:
        """Return `3 ranks, length 240`."""
        return f"{ranks_text(self.ranks)}, {self.label}"


class Board:
    """Words in a file that all processes of a session have mapped; each rank writes its own."""

    def __init__(self, folder: Path, ranks: int) -> None:
        """folder: of the session, in which `create` has made the board."""
        self._folder = folder
        self._ranks = ranks
        with (folder / _BOARD).open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._words = memoryview(self._map).cast("q")

    @classmethod
    def create(cls, folder: Path, ranks: int) -> "Board":
        """Make the board of a session."""
        (folder / _BOARD).write_bytes(bytes((ranks + 1) * _NUM_WORDS * _WORD_NUM_BYTES))
        board = cls(folder, ranks)
        board.exit_code = _NOT_ENDED
        return board

    @property
    def exit_code(self) -> int:
        """Return what pytest ended with in rank 0; negative while it has not."""
        return self._words[0]

    @exit_code.setter
    def exit_code(self, code: int) -> None:
        self._words[0] = code

    def join(self, rank: int) -> None:
        """Tell that this process is a rank."""
        self._set(rank, "pid", os.getpid())

    def begin_case(self, rank: int, number: int, first_sequence: int) -> None:
        """Tell that a rank begins a case; its calls of it are those from first_sequence on."""
        self._set(rank, "first_sequence", first_sequence)
        self._set(rank, "case", number)
        self._set(rank, "state", State.IN_CASE)

    def end_case(self, rank: int, problem: Mapping[str, Any] | None) -> None:
        """Tell that a rank has returned from the case, or what it has raised."""
        if problem is not None:
            self._problem(rank).write_text(json.dumps(problem))
        self._set(rank, "state", State.RETURNED if problem is None else State.RAISED)

    def wait_for(self, case: RunningCase, progress: Callable[[], None]) -> None:
        """Wait until every rank of the case has ended it; call `progress` again and again."""
        while any(self.state(rank, case) in (State.IDLE, State.IN_CASE) for rank in _of(case)):
            progress()
            time.sleep(0.001)

    def announce(self, case: RunningCase) -> None:
        """Tell which case begins; by rank 0."""
        text = json.dumps(asdict(case))
        draft = self._folder / "case.draft"
        draft.write_text(text)
        draft.replace(self._folder / "case.json")

    def case(self) -> RunningCase | None:
        """Return the case that runs, or ran last; None before the first."""
        try:
            return RunningCase(**json.loads((self._folder / "case.json").read_text()))
        except FileNotFoundError:
            return None

    def state(self, rank: int, case: RunningCase) -> State:
        """Return how far a rank has come with a case: IDLE where it has not begun it."""
        if self._get(rank, "case") != case.number:
            return State.IDLE
        return State(self._get(rank, "state"))

    def first_sequences(self, case: RunningCase) -> list[int]:
        """Return the first call of the case in each of its ranks."""
        return [self._get(rank, "first_sequence") for rank in _of(case)]

    def problem(self, rank: int) -> Mapping[str, Any]:
        """Return what a rank has raised."""
        found: Mapping[str, Any] = json.loads(self._problem(rank).read_text())
        return found

    def pid(self, rank: int) -> int:
        """Return the process of a rank; 0 before it has joined."""
        return self._get(rank, "pid")

    def _problem(self, rank: int) -> Path:
        return self._folder / f"problem-{rank}.json"

    def _get(self, rank: int, word: str) -> int:
        return self._words[(rank + 1) * _NUM_WORDS + _WORDS.index(word)]

    def _set(self, rank: int, word: str, value: int) -> None:
        self._words[(rank + 1) * _NUM_WORDS + _WORDS.index(word)] = value


def _of(case: RunningCase) -> range:
    return range(case.ranks)


@dataclass(frozen=True)
class Said:
    """What one rank has to say about a case."""

    frame: Frame | None
    """Its results; None where it has raised."""
    problem: Mapping[str, Any] | None
    trace: RankTrace
    wall_time_s: float
    printed: str


def combined(everyone: Sequence[Said], call: CaseCall, entry: str) -> Outcome | RunFailure:
    """Return the outcome of a case, or why there is none: as a grading would tell it.

    entry: the call that the part asks for.
    """
    trace = Trace(tuple(each.trace for each in everyone))
    raised = [each.problem is not None for each in everyone]
    if any(raised):
        ranks = (
            RankEnd() if each.problem is None else RankEnd(said="problem", values=each.problem)
            for each in everyone
        )
        end = End(EndKind.TROUBLE, tuple(ranks), trace)
        return explain_open(end, entry=entry)
    results = []
    for rank, (each, expected) in enumerate(zip(everyone, call.expected, strict=True)):
        assert each.frame is not None
        result, refused = refuse(rank, expected, each.frame.values, each.frame.arrays)
        if refused:
            return RunFailure(Verdict.WRONG_ANSWER, refused)
        results.append(result)
    wall_time_s = max(each.wall_time_s for each in everyone)
    return Outcome(
        label=call.label,
        ranks=len(everyone),
        inputs=call.inputs,
        results=tuple(results),
        trace=name_lower_case(trace),
        wall_time_s=wall_time_s,
        given_time_s=wall_time_s,
    )


def explain_open(end: End, *, entry: str, output_tails: Sequence[str] = ()) -> RunFailure:
    """Return why a session ended, in which files and sockets of other ranks can be reached."""
    observed = LaunchObservation((), end, output_tails=output_tails, python=sys.version_info[:2])
    return failure_of_end(observed, end, entry=entry, makes_progress=True, are_apart=False)
