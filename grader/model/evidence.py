"""What was seen of one case, small enough to be shown: who sent whom what, when, and what differs.

All of it is drawn from what ranks recorded of themselves. It illustrates a verdict, and proves
nothing beyond that.
"""

from dataclasses import dataclass

FEWEST_RANKS = 2
"""Of a run with messages."""


@dataclass(frozen=True)
class CallSpan:
    """One call of one rank on the time axis."""

    rank: int
    name: str
    """As the student wrote it: `Isend`, `comm.allreduce`, `all_reduce`."""
    place: str
    """`ring.py:31`; empty where the line is not known."""
    kind: str
    """`send`, `receive`, `collective`, or `wait` for all others."""
    began_ms: float
    """Since the first call of the case, on the clock of the machine (CLOCK_MONOTONIC)."""
    ended_ms: float | None
    """When the call returned; None where it has not."""
    note: str = ""
    """What it was about: `to rank 1, tag 0, 96 bytes`."""


@dataclass(frozen=True)
class Message:
    """One message from one rank to another that has arrived."""

    source: int
    destination: int
    sent_ms: float
    """When the sending call began; on the same axis as the calls."""
    received_ms: float
    """When the receiver had it: its call or wait returned."""
    num_bytes: int
    tag: int
    received_at: str
    """The line of the receive."""


@dataclass(frozen=True)
class Edge:
    """All messages from one rank to another."""

    source: int
    destination: int
    num_messages: int
    num_bytes: int


@dataclass(frozen=True)
class Timeline:
    """The calls of the ranks and the messages between them; of a long case the last ones."""

    spans: tuple[CallSpan, ...]
    messages: tuple[Message, ...]
    num_spans_left_out: int = 0
    num_messages_left_out: int = 0


@dataclass(frozen=True)
class WaitingRank:
    """A rank of a deadlock."""

    rank: int
    text: str
    """`waits in Recv(source=3, tag=0) at ring.py:41`."""
    call: str
    """`Recv`."""
    place: str
    """`ring.py:41`; empty where the line is not known."""
    waits_for: tuple[int, ...]
    """The ranks without which it cannot go on."""


@dataclass(frozen=True)
class PlaceNote:
    """What all ranks together do at a line."""

    place: str
    """`ring.py:41`."""
    text: str
    """`sends: rank 0 to 1, 1 to 2, 2 to 0`."""


@dataclass(frozen=True)
class Deadlock:
    """Why no rank will ever go on."""

    waiting: tuple[WaitingRank, ...]
    gone: tuple[int, ...]
    """Ranks that had already returned."""
    cycle: tuple[int, ...]
    """A shortest cycle of ranks that wait for each other; empty where there is none."""
    notes: tuple[PlaceNote, ...] = ()
    """What each line that takes part does in it."""


@dataclass(frozen=True)
class DifferingElement:
    """One element that is not what it should be."""

    index: str
    actual: str
    expected: str


@dataclass(frozen=True)
class Differences:
    """How one rank's array differs from the expected one."""

    rank: int
    name: str
    """Of the array, as the student knows it: `recv`."""
    num_differing: int
    num_elements: int
    elements: tuple[DifferingElement, ...]
    """The first of them."""
    made_of: str = ""
    """Whose contributions are in the first of them, in words; empty where that is not known."""


@dataclass(frozen=True)
class Budget:
    """A quantity beside what is allowed."""

    what: str
    actual: float
    allowed: float
    unit: str
    formula: str = ""
    """Where the allowed number comes from: a closed form, or a factor and a yardstick."""
    reference: float | None = None
    """What the reference or yardstick needs."""


@dataclass(frozen=True)
class MarkedLine:
    """A line of the student's with what was found there."""

    line: int
    """From 1."""
    text: str
    finding: str = ""
    """Empty for the lines around a finding."""
    column: int = 0
    """Where what the finding is about begins, from 1; 0 where it is the whole line."""
    num_columns: int = 0


@dataclass(frozen=True)
class SourceExcerpt:
    """Lines of one of the student's files around what was found in it."""

    file: str
    lines: tuple[MarkedLine, ...]


@dataclass(frozen=True)
class Evidence:
    """What was seen of the case that decided a test."""

    case: str
    """`4 ranks, length 13, sum, float64`."""
    num_ranks: int
    edges: tuple[Edge, ...] = ()
    timeline: Timeline = Timeline((), ())
    deadlock: Deadlock | None = None
    differences: tuple[Differences, ...] = ()
    budgets: tuple[Budget, ...] = ()
    excerpts: tuple[SourceExcerpt, ...] = ()
