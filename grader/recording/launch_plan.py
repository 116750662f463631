"""What a launch is asked to do."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from grader.model.report import Array, MessageFault, Text


@dataclass(frozen=True)
class Limits:
    """What a run may use before the judge ends it."""

    start_s: float = 30.0
    """From mpirun to the last rank's first word; exceeding it is the machine's fault."""
    case_s: float = 10.0
    """Of what the machine gives the ranks: what others have of it does not count."""
    part_s: float = 1800.0
    """By the clock, for all launches of a part together: then it starts no ranks any more. Our own
    solutions take a minute at most, so that a busy machine does not matter."""
    memory_num_bytes: int = 5 << 29
    """All processes of the run together; well below what a container has, which the judge needs."""
    rank_memory_num_bytes: int = 2 << 30
    """Private writable memory of one process (RLIMIT_DATA)."""
    output_num_bytes: int = 8 << 20
    """What one rank may print, and all processes together that are no ranks."""


@dataclass(frozen=True)
class CaseCall:
    """One case, ready to be sent to the ranks."""

    label: str
    probe: str
    synchronous_sends: bool
    inputs: tuple[Mapping[str, Any], ...]
    """Per rank: numpy arrays and JSON values."""
    expected: tuple[Mapping[str, Array | Text], ...]
    """Per rank: the form its results must have."""
    message_fault: MessageFault | None = None
    """What is changed on its way between the ranks."""
    all_calls_count: bool = False
    """Of torch.distributed: rules are about all calls, whatever phase they are said to be of."""
    is_timed: bool = False
    """Find out how long of it the machine worked for others."""


MAX_NUM_RANKS = 62
"""Of a launch; each is a user of its own in a container."""
MOST_TRACE_NUM_BYTES = 228 << 20
"""Of the calls of a part, all ranks together, as they are before they are packed: 1.5 million, two
for each request that is waited for.
A submission that sends the arrays of our cases element by element makes a million. A case whose
trace memory ran over keeps its last calls only, and so hardly counts."""


@dataclass(frozen=True)
class LaunchAllowance:
    """What earlier launches of a part have left for one, and what is to be kept of it."""

    time_s: float = float("inf")
    """By the clock, after which no other case of the launch begins."""
    trace_num_bytes: int = MOST_TRACE_NUM_BYTES
    """Of the calls of all cases that are kept; a case that makes more has no outcome."""


@dataclass(frozen=True)
class LaunchPlan:
    """One mpirun: who takes part, and the cases they go through in lockstep."""

    ranks: int
    cases: tuple[CaseCall, ...]
    probes: Mapping[str, str]
    """Sources of the rank-side code by module; `__init__` is what cases name functions of."""
    backend: str
    """What connects the ranks, one of grader.model.report.BACKENDS."""
    standalone: bool
    """Leave MPI or torch.distributed to the submission altogether; exactly one case."""
    entry: str
    """The call the part asks for, as the handout writes it."""
    submission: Mapping[str, bytes]
    support: Mapping[str, bytes]
    limits: Limits = field(default_factory=Limits)
    guarded: bool = True
    """Refuse ways around MPI and torch; not where we try out ourselves what a rank may do."""
    confined: bool = True
    """Once MPI connects the ranks, leave them nothing else in common; the same holds."""
    windows: bool = False
    """Allow MPI's windows, for which ranks share a folder."""
    folders: tuple[str, ...] = ()
    """Of the submission, those without files."""
    compared_with: str = ""
    """Of yardsticks, the key of the plan whose times are compared with theirs: no line of the
    submission is in such a launch, and it is observed anew beside each other plan."""
    allowance: LaunchAllowance = field(default_factory=LaunchAllowance)
    """It changes how long is run and what is kept, not what is run."""

    def __post_init__(self) -> None:
        """Raise ValueError for more ranks than there are users for."""
        if self.ranks > MAX_NUM_RANKS:
            raise ValueError(
                f"a launch can have at most {MAX_NUM_RANKS} ranks, not {self.ranks}; lower ranks= "
                "in the case"
            )

    @property
    def is_mpi(self) -> bool:
        """Return whether MPI connects the ranks."""
        return self.backend.startswith("mpi")

    @property
    def student_phases(self) -> tuple[int, ...]:
        """Return the phases whose calls are the student's; a standalone program has no other."""
        return (0, 1) if self.standalone else (1,)

    @property
    def makes_progress(self) -> bool:
        """Return whether MPI goes on inside of ranks that have returned.

        Not in a program that begins and ends MPI itself: see the backends of a rank.
        """
        return not (self.is_mpi and self.standalone)

    @property
    def are_apart(self) -> bool:
        """Return whether nothing but MPI or torch.distributed connects the ranks."""
        return self.confined and self.ranks > 1


NOT_IN_KEY = frozenset({"allowance", "start_s", "part_s", "entry", "all_calls_count", "finite"})
"""Fields that only say how much is kept, when the machine has failed, or how a judge judges."""


def field_digests(plan: LaunchPlan) -> dict[str, str]:
    """Return a digest of each field of a plan that its key is made of: all but those of NOT_IN_KEY.

    Raises TypeError for a field of a kind that is not known here.
    """
    names = sorted({field.name for field in fields(plan)} - NOT_IN_KEY)
    return {name: _digest(getattr(plan, name)) for name in names}


def key_of(digests: Mapping[str, str]) -> str:
    """Return the key of the plan whose fields have these digests, 64 hexadecimal digits."""
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()


def _digest(value: Any) -> str:
    digest = hashlib.sha256()
    _feed(lambda piece: digest.update(b"%d:" % len(piece) + piece), value)
    return digest.hexdigest()[:32]


def _feed(take: Callable[[bytes], None], value: Any) -> None:
    """Hand on the kind, the length and the content of a value, and of all values in it."""
    if isinstance(value, bytes | str):
        take(type(value).__name__.encode())
        take(value if isinstance(value, bytes) else value.encode(errors="surrogatepass"))
    elif value is None or isinstance(value, bool | int | float | np.number):
        take(f"{type(value).__name__} {value!r}".encode())
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("an array of Python objects has no key")
        take(f"array {value.dtype.str} {value.shape}".encode())
        take(value.tobytes())
    elif isinstance(value, Mapping):
        take(b"mapping %d" % len(value))
        for name in sorted(value):
            _feed(take, name)
            _feed(take, value[name])
    elif isinstance(value, Sequence):
        take(b"sequence %d" % len(value))
        for each in value:
            _feed(take, each)
    elif is_dataclass(value):
        take(type(value).__name__.encode())
        for name in sorted({field.name for field in fields(value)} - NOT_IN_KEY):
            take(name.encode())
            _feed(take, getattr(value, name))
    else:
        raise TypeError(f"a {type(value).__name__} has no key")
