"""What was seen of a launch: facts alone, which a judge explains."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from numpy.typing import NDArray

from grader.recording.launch_plan import LaunchPlan
from grader.trace.calls import Counted, RankTrace, Trace
from grader.trace.sent_by_gloo import SentByGloo

MAX_SLOWDOWN = 5.0
"""A case ends after as many times its limit by the clock, however little it was given."""


@dataclass(frozen=True)
class CaseTime:
    """What has passed since the inputs of a case were handed out."""

    clock_s: float
    run_queue_delay_s: float
    """In which the run's processes could have run, and the machine let others; 0 if not known."""

    @property
    def given_s(self) -> float:
        """Return how long it would have taken on a machine of its own."""
        return self.clock_s - self.run_queue_delay_s

    @property
    def compared_s(self) -> float:
        """Return what counts where times are compared.

        Not less than a part of the clock: who keeps its own processes waiting becomes no faster
        than that.
        """
        return min(max(self.given_s, self.clock_s / MAX_SLOWDOWN), self.clock_s)

    def is_up(self, limit_s: float) -> bool:
        """Return whether the case has had its time, or takes too long for anybody to wait for."""
        return self.given_s > limit_s or self.is_starved(limit_s)

    def is_starved(self, limit_s: float) -> bool:
        """Return whether it ends by the clock, before it was given its time: that proves little."""
        return self.given_s <= limit_s and self.clock_s > MAX_SLOWDOWN * limit_s


@dataclass(frozen=True)
class RankCase:
    """What one rank did in a case that all ranks answered."""

    values: Mapping[str, Any]
    """The JSON values of its answer: `texts`, `remarks`."""
    arrays: Mapping[str, NDArray[Any]]
    """The arrays of its answer, of whatever form it sent them."""
    trace: RankTrace
    """Its calls of all phases."""
    counted_before: Counted | None
    """What MPI itself had counted when the case began; None where it does not count."""
    counted_after: Counted | None
    num_nested: int
    """Calls that it made inside functions that MPI had called, which leave no record."""
    sent_by_gloo: SentByGloo | None
    """None for a rank of MPI."""
    num_beside_calls: int = 0
    """Messages that MPI sent for itself, as it does in collectives, but in no call of the trace."""


@dataclass(frozen=True)
class CaseObservation:
    """What was seen of a case that all ranks answered."""

    ranks: tuple[RankCase, ...]
    began_ns: int
    """When its inputs were handed out, on the clock of the calls."""
    read_ns: int
    """When its calls were read."""
    lasted: CaseTime
    """Until the last rank's answer."""
    num_calls_not_kept: tuple[int, ...] = ()
    """By rank, where they are more than the launch may keep; its ranks have none then."""
    carried_num_bytes: int | None = None
    """What the kernel carried between ranks; None where it is not asked."""
    num_altered: int = 0
    """How many messages left altered, of those that the case wanted altered."""
    said_by_process: tuple[tuple[str, ...], ...] | None = None
    """What each process that showed itself to the forkserver has said; None where nobody heard."""
    num_processes_at_once: int | None = None

    @property
    def trace(self) -> Trace:
        """Return the calls of all ranks, of all phases."""
        return Trace(tuple(rank.trace for rank in self.ranks))


class EndKind(StrEnum):
    """Why a launch ended before its last case was answered."""

    STALLED = "stalled"
    """No rank can move any more."""
    EXCESS = "excess"
    """It used too much of something."""
    TIME_LIMIT = "time limit"
    TROUBLE = "trouble"
    """A rank said something else than an answer, or ended."""


@dataclass(frozen=True)
class Excess:
    """What a launch used too much of."""

    kind: str
    """`memory`, `processes` or `output`."""
    used: int
    allowed: int
    """Bytes, or processes."""
    rank: int | None = None
    """Whose output it is; None for what all processes have used together."""


@dataclass(frozen=True)
class RankEnd:
    """What is known of one rank at the end of a launch."""

    has_returned: bool = False
    """It has left the student's call, and makes no MPI call any more."""
    said: str = ""
    """What it said in place of an answer: `problem` for an exception, `closed` for nothing at all,
    `broken` for what nobody can read, or a word that nobody expected; empty where it said none."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What it said of it."""
    exit_status: int | None = None
    signal: str = ""
    """The name of the one that ended its process, such as `SIGSEGV`."""
    place: tuple[str, int] | None = None
    """File and line of the submission that it was last in, where it was asked or crashed."""
    dumped_a_crash: bool = False
    """Its stack was written because a signal ended it, not because it was asked."""


@dataclass(frozen=True)
class End:
    """How a launch ended before its last case was answered."""

    kind: EndKind
    ranks: tuple[RankEnd, ...]
    trace: Trace
    """All calls of every rank since the last case began, of all phases."""
    began_ns: int | None = None
    """When that case began; None where it had been answered already."""
    lasted: CaseTime | None = None
    """For a time limit: how long the ranks have had."""
    limit_s: float = 0.0
    excess: Excess | None = None

    @property
    def returned(self) -> frozenset[int]:
        """Return the ranks that have left the student's call."""
        return frozenset(rank for rank, end in enumerate(self.ranks) if end.has_returned)

    @property
    def is_starved(self) -> bool:
        """Return whether it ended by the clock, before the machine gave it its time."""
        return self.lasted is not None and self.lasted.is_starved(self.limit_s)


@dataclass(frozen=True)
class LaunchObservation:
    """What was seen of a launch: its cases in order, and how it ended."""

    cases: tuple[CaseObservation, ...]
    """Those that were answered."""
    end: End | None = None
    """None where all cases were answered, or where its time was up between two of them."""
    wall_time_s: float = 0.0
    """From its start to its end, also of one that was repeated."""
    output_tails: Sequence[str] = ()
    """The last lines that each rank printed."""
    refusals: Sequence[str] = ()
    """What the guard refused to each rank first, such as `a.py:3 opens a socket`; else nothing."""
    python: tuple[int, int] = (3, 11)
    """The version of Python that the ranks ran."""


Observer = Callable[[LaunchPlan], LaunchObservation]
"""Puts a plan to ranks, and returns what was seen of it."""
