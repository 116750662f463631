"""What the ranks of an open session and the process that watches them tell each other."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grader.judge.explanation.launch_end import failure_of_end
from grader.judge.traffic.collective_calls import name_lower_case
from grader.judge.values.result_forms import refuse
from grader.model.plural import counted
from grader.model.report import Outcome, RunFailure, Verdict
from grader.observe.interposer.memory import TraceMemory
from grader.observe.run_control.rank_files import NUM_TRACE_RECORDS, RankFiles
from grader.observe.run_control.rank_messages import Frame
from grader.recording.launch_plan import CaseCall
from grader.recording.observation import End, EndKind, LaunchObservation, RankEnd
from grader.trace.calls import RankTrace, Trace

FOLDER_VARIABLE = "GRADER_OPEN"
"""The variable that names the folder of the session, if a process watches it."""
SCRATCH = "scratch"
"""The folder in there in which ranks work."""
_TICK_S = 0.002
Told = TypeVar("Told")


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
    """Return the memory that this rank shares with its watcher, or its own without one."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is not None:
        return os.open(f"{folder}/{name}-{os.environ['OMPI_COMM_WORLD_RANK']}", os.O_RDWR)
    if name == "trace":
        return TraceMemory.create(NUM_TRACE_RECORDS).fd
    return os.memfd_create(name)


@dataclass(frozen=True)
class RunningCase:
    """The case that runs: what a student reads about it, and what the judge needs."""

    number: int
    test: str
    label: str
    ranks: int
    limit_s: float
    """0 for no limit, so that a debugger may take its time."""
    entry: str

    @property
    def title(self) -> str:
        """Return `3 ranks, length 240`."""
        return f"{counted(self.ranks, 'rank')}, {self.label}"


@dataclass(frozen=True)
class RankState:
    """How far a rank has come with the last case that it has begun."""

    pid: int
    case: int
    """Its number."""
    first_sequence: int
    """The number of its first call in the case."""
    has_ended: bool = False
    problem: dict[str, Any] | None = None
    """The exception that it raised."""


class Board:
    """A folder in which each process of a session writes how far it is, into its own file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def tell(self, name: str, said: "int | RankState | RunningCase") -> None:
        """Replace the entry of this name: `case`, `exit`, or a rank's."""
        draft = self._folder / f"{name}.draft"
        draft.write_text(json.dumps(said if isinstance(said, int) else asdict(said)))
        draft.replace(self._folder / f"{name}.json")

    def exit_code(self) -> int | None:
        """Return pytest's exit code in rank 0; None while it runs."""
        return self._told("exit", int)

    def case(self) -> RunningCase | None:
        """Return the case that runs, or ran last; None before the first."""
        return self._told("case", RunningCase)

    def rank(self, rank: int, case: RunningCase) -> RankState | None:
        """Return how far a rank has come with a case; None before it has begun it."""
        found = self._told(f"rank-{rank}", RankState)
        return found if found is not None and found.case == case.number else None

    def wait_for(self, case: RunningCase, progress: Callable[[], None]) -> None:
        """Wait until every rank of the case has ended it; call `progress` again and again."""
        for rank in range(case.ranks):
            while (found := self.rank(rank, case)) is None or not found.has_ended:
                progress()
                time.sleep(_TICK_S)

    def _told(self, name: str, kind: type[Told]) -> Told | None:
        try:
            text = (self._folder / f"{name}.json").read_text()
        except FileNotFoundError:
            return None
        return msgspec.convert(json.loads(text), kind)


@dataclass(frozen=True)
class Said:
    """What one rank reports about a case."""

    frame: Frame | None
    """Its results; None if it raised an exception."""
    problem: Mapping[str, Any] | None
    trace: RankTrace
    wall_time_s: float
    printed: str


def combined(everyone: Sequence[Said], call: CaseCall, entry: str) -> Outcome | RunFailure:
    """Return the outcome of a case, or why there is none: as a grading would tell it."""
    trace = Trace(tuple(each.trace for each in everyone))
    raised = [each.problem is not None for each in everyone]
    if any(raised):
        ranks = (
            RankEnd() if each.problem is None else RankEnd(said="problem", values=each.problem)
            for each in everyone
        )
        return explain_open(End(EndKind.TROUBLE, tuple(ranks), trace), entry=entry)
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
    """Return why a session ended; its ranks can reach each other's files and sockets."""
    observed = LaunchObservation((), end, output_tails=output_tails, python=sys.version_info[:2])
    return failure_of_end(observed, end, entry=entry, makes_progress=True, are_apart=False)
