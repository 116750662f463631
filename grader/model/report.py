"""The nouns of a grading: verdicts, what a run showed, and the report made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from grader.model.evidence import Evidence
from grader.model.finding import Finding, joined
from grader.model.points import total

if TYPE_CHECKING:  # commands that start no ranks need no numpy
    from grader.trace.calls import Trace
    from grader.trace.sent_by_gloo import GlooSamples

NEEDS_REVIEW = 4
"""The exit code of a grading that a person has to look at."""
BACKENDS = ("mpi", "mpi-student", "mpi-script", "torch", "torch-script", "none")
"""What connects the ranks of a part; `none`: nothing.

`mpi`: MPI, of which a probe gets a communicator. `mpi-student`: the submission calls MPI.Init and
MPI.Finalize and uses COMM_WORLD. `mpi-script`: it uses COMM_WORLD and finds MPI initialised.
`torch`: torch.distributed, with a group for each case. `torch-script`: the submission makes it."""


class Feedback(StrEnum):
    """Each level tells all that those before it tell."""

    VERDICT = "verdict"
    """The name of the test, its verdict and points."""
    SENTENCE = "sentence"
    """Also what it asks for."""
    VALUES = "values"
    """Also why it has not held, with the case and the values."""
    ALL = "all"
    """Also tracebacks, output and pictures."""

    def tells(self, level: "Feedback") -> bool:
        """Return whether this level tells what that one does."""
        levels = list(Feedback)
        return levels.index(self) >= levels.index(level)


class Verdict(StrEnum):
    """The result of a test or a part; `severity` orders them for the headline of a part."""

    ACCEPTED = "ACCEPTED"
    WRONG_ANSWER = "WRONG_ANSWER"
    RULE_VIOLATION = "RULE_VIOLATION"
    DEADLOCK = "DEADLOCK"
    RUN_TIME_ERROR = "RUN_TIME_ERROR"
    TIME_LIMIT_EXCEEDED = "TIME_LIMIT_EXCEEDED"
    MEMORY_LIMIT_EXCEEDED = "MEMORY_LIMIT_EXCEEDED"
    OUTPUT_LIMIT_EXCEEDED = "OUTPUT_LIMIT_EXCEEDED"
    NOT_ATTEMPTED = "NOT_ATTEMPTED"
    SKIPPED = "SKIPPED"
    NOT_PROVEN = "NOT_PROVEN"
    JUDGE_ERROR = "JUDGE_ERROR"

    @property
    def severity(self) -> int:
        """Return the rank of this verdict when one must speak for several; higher wins."""
        return _BY_SEVERITY.index(self)


_BY_SEVERITY = [
    Verdict.ACCEPTED,
    Verdict.SKIPPED,
    Verdict.NOT_PROVEN,
    Verdict.RULE_VIOLATION,
    Verdict.WRONG_ANSWER,
    Verdict.OUTPUT_LIMIT_EXCEEDED,
    Verdict.TIME_LIMIT_EXCEEDED,
    Verdict.MEMORY_LIMIT_EXCEEDED,
    Verdict.RUN_TIME_ERROR,
    Verdict.DEADLOCK,
    Verdict.NOT_ATTEMPTED,
    Verdict.JUDGE_ERROR,
]


@dataclass(frozen=True)
class Array:
    """The exact form of a result: anything else is refused before it is compared."""

    dtype: str
    shape: tuple[int | None, ...]
    """None for a length the judge cannot know beforehand."""
    finite: bool = True
    max_num_bytes: int = 64 << 20  # with None in the shape: of all such results of a rank together


@dataclass(frozen=True)
class Text:
    """A result that is a short text."""

    max_num_chars: int = 4096


@dataclass(frozen=True)
class RunFailure:
    """Why a run ended before all its cases were answered."""

    verdict: Verdict
    message: str
    """One sentence for the student: evidence, rank, file and line."""
    detail: str = ""  # traceback, and the last output lines of each rank
    is_lasting: bool = False
    """Every other case would end the same way: there is nothing to call."""
    evidence: Evidence | None = None
    """What was seen of the case that ended the run, to be shown."""
    findings: tuple[Finding, ...] = ()
    """What the message says, piece by piece; the first names the cause."""
    case: str = ""
    """Of what it was seen, such as `3 ranks, length 7`; the message begins with it."""
    kind: str = ""
    """What happened, such as `IndexError: list index out of range`; a fact, no sentence of ours."""
    place: str = ""
    """Where: ranks, with file and line where these are known."""

    @classmethod
    def of(cls, verdict: Verdict, *findings: Finding, **more: Any) -> "RunFailure":
        """Return a failure whose message is what was found."""
        return cls(verdict, joined(findings), findings=findings, **more)

    def is_like(self, other: "RunFailure") -> bool:
        """Return whether both are the same failure, as far as their facts tell."""
        mine, others = ((each.verdict, each.kind, each.place) for each in (self, other))
        return bool(self.kind) and mine == others


@dataclass(frozen=True)
class MessageFault:
    """Messages altered as they leave a rank, to see which answers depend on them."""

    rank: int
    """Who sends it."""
    number: int | None
    """0 for its first message of a case; None for all of them."""
    position: float = 0.0
    """Which element of the message, from 0 (the first) up to 1."""
    min_num_bytes: int = 1
    """Sends of fewer bytes are left alone, and not counted."""
    of_collectives: bool = False
    """What it gives to collectives is counted and changed, in place of its messages."""
    operations: tuple[str, ...] = ()
    """Of torch.distributed: for which of them gloo sends what is changed."""
    num_messages: int = 1
    """How many are changed, from that number on."""

    @property
    def text(self) -> str:
        """Return `message 3 of rank 2 altered`; counted from 1, as people do."""
        if self.operations:
            return f"rank {self.rank}'s data for {', '.join(self.operations)} altered"
        noun = "contribution" if self.of_collectives else "message"
        what = f"every {noun}" if self.number is None else f"{noun} {self.number + 1}"
        if self.number is not None and self.num_messages > 1:
            what = f"{noun}s {self.number + 1} to {self.number + self.num_messages}"
        to = " to a collective" if self.of_collectives else ""
        return f"{what} of rank {self.rank}{to} altered"


@dataclass(frozen=True)
class Outcome:
    """One case of a run: the inputs and results of each rank."""

    label: str
    ranks: int
    inputs: tuple[Mapping[str, Any], ...]
    """Per rank: the arrays and JSON values its probe was called with."""
    results: tuple[Mapping[str, Any], ...]
    """Per rank: numpy arrays, or JSON values, exactly of the announced shape and type."""
    trace: "Trace"
    """The MPI calls of this case that the student's code made."""
    wall_time_s: float
    """From `inputs released` to the last rank's result, on the judge's clock."""
    num_altered: int = 0
    """How many messages left altered, of those that the case wanted altered."""
    num_processes: int | None = None
    """How many processes showed themselves to the forkserver; None where nobody counted."""
    said_by_process: tuple[tuple[str, ...], ...] | None = None
    """What each of them has said to the forkserver, which tells them apart by the kernel."""
    num_processes_at_once: int | None = None
    """The most of them that were alive at one moment."""
    gloo_samples: tuple["Mapping[str, GlooSamples] | None", ...] = ()
    """Per rank: of what gloo sent for each operation; None where none were taken."""
    given_time_s: float = 0.0  # wall_time_s on a machine of its own; where times are compared

    def __getitem__(self, name: str) -> list[Any]:
        """Return the result `name` of every rank, in rank order."""
        return [result[name] for result in self.results]


@dataclass(frozen=True)
class Attempt:
    """What the ranks did in one case, with or without an answer."""

    ranks: int
    inputs: tuple[Mapping[str, Any], ...]
    """Per rank: the arrays and JSON values its probe was called with."""
    trace: "Trace"
    """The MPI calls that the student's code made, up to the end."""
    failure: RunFailure | None = None
    """Why it came to no answer."""


@dataclass(frozen=True)
class TestResult:
    """One test of a suite: all its parameters or nothing."""

    name: str
    sentence: str
    verdict: Verdict
    points: float
    max_points: float
    message: str = ""
    detail: str = ""
    where: str = ""
    """The parameters that failed first, such as `ranks=4`; empty when none failed."""
    is_hidden: bool = False
    """Only the course has this test."""
    evidence: Evidence | None = None
    """What was seen of the case that decided it, to be shown; None where nothing is to be seen."""
    findings: tuple[Finding, ...] = ()
    """What the message says, piece by piece; the first names the cause."""
    case: str = ""
    """Of what it was seen, such as `3 ranks, length 7`; the message begins with it."""
    blocked_by: tuple[str, ...] = ()
    """Of a test that was not run: those that failed, without which it says nothing."""
    feedback: Feedback = Feedback.ALL
    """How much of all this its student is told."""

    def redacted(self) -> "TestResult":
        """Return what may be known of a hidden test: its name, verdict and points, no more."""
        messages = {Verdict.ACCEPTED: "", Verdict.SKIPPED: "not run"}
        return TestResult(
            name=self.name,
            sentence=f"a hidden check: {self.name.removeprefix('test_').replace('_', ' ')}",
            verdict=self.verdict,
            points=self.points,
            max_points=self.max_points,
            message=messages.get(self.verdict, "a hidden check failed"),
            is_hidden=True,
            blocked_by=self.blocked_by,
            feedback=Feedback.VERDICT,
        )


@dataclass(frozen=True)
class PartResult:
    """One gradable piece of an assignment."""

    name: str
    title: str
    verdict: Verdict
    points: float
    max_points: float
    message: str
    tests: tuple[TestResult, ...]
    notes: tuple[Finding, ...] = ()
    """Things worth saying that cost nothing: advice, graded again with our version, ..."""
    wall_time_s: float = 0.0
    num_launches: int = 0

    @property
    def further_notes(self) -> tuple[Finding, ...]:
        """Return the notes that the message does not end with."""
        return tuple(note for note in self.notes if not self.message.endswith(note.text))

    @property
    def needs_review(self) -> bool:
        """Return whether the instructor must review what was handed in.

        Evidence did not agree, or the grader failed in a test: who brought that about is not known.
        """
        verdicts = {test.verdict for test in self.tests}
        return Verdict.NOT_PROVEN in {self.verdict, *verdicts} or Verdict.JUDGE_ERROR in verdicts


@dataclass(frozen=True)
class ManualPart:
    """A part that is graded by hand; pending until then, never zero."""

    name: str
    title: str
    max_points: float
    found: str
    """What was handed in for it, such as `report.pdf, 3 pages` or `nothing handed in`."""


@dataclass(frozen=True)
class Versions:
    """What graded, so that a mark can be reproduced."""

    grader: str
    engine_digest: str
    """Over the grader's own sources."""
    course: str
    """The name of the course that was graded by."""
    course_digest: str
    """Over its suites, and the files it gives to the ranks."""
    lock_digest: str
    packages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HandedInFile:
    """One file of a hand-in, and what became of it."""

    path: str
    """In the hand-in; what lies in an archive or a notebook lies below its name."""
    file: str
    """The file of the assignment that it counts for; empty where it counts for none."""
    is_graded: bool
    why: str
    """By which rule it is graded, or why it is not: the end of a sentence that begins with it."""


@dataclass(frozen=True)
class ClassMark:
    """The mark that a class gives, which counts in place of what the checks found."""

    text: str
    """Such as `Your mark: 7 of 8`, or that there is none yet."""
    settled: tuple[str, ...] = ()
    """The parts for which a person gave points in place of the checks."""


@dataclass(frozen=True)
class Report:
    """Everything a grading found."""

    assignment: str
    title: str
    submission: str
    """The folder as the user named it."""
    submission_digest: str
    mode: str
    """`local` or `container`."""
    parts: tuple[PartResult, ...]
    manual_parts: tuple[ManualPart, ...]
    versions: Versions
    wall_time_s: float
    started_at: str
    """ISO 8601, UTC."""
    notes: tuple[str, ...] = ()
    """About the grading as a whole: missing protections, files ignored, ..."""
    files: tuple[HandedInFile, ...] = ()
    """All that was handed in."""
    is_recognised: bool = False
    """The assignment was found out from the files, for want of its name."""
    named: str = ""
    """The assignment as --assignment named it: for the command that shows it again, and no mark."""
    course_folder: str = ""
    """As --course named it, where it did: likewise."""
    image: str = ""
    """As --image named it, or as the image names itself: likewise."""
    is_for_owner: bool = False
    """Is read by whoever has the files in a folder of their own: likewise."""

    seed: str = ""
    """What the inputs follow from, in hex, where it was drawn for this grading: for the course."""

    mark: ClassMark | None = None
    """Of the class, in a report for its student."""
    questions: tuple[tuple[str, str, str], ...] = ()
    """Title, result, and points of what a person grades, likewise; not in the JSON report."""

    @property
    def is_sealed(self) -> bool:
        """Return whether the submission could reach nothing but its own files."""
        return self.mode == "container"

    @property
    def score(self) -> float | None:
        """Return the points gained, or None when the grader itself failed on a part."""
        if any(part.verdict is Verdict.JUDGE_ERROR for part in self.parts):
            return None
        return total(part.points for part in self.parts)

    @property
    def max_score(self) -> float:
        """Return the points of all parts that are graded automatically."""
        return total(part.max_points for part in self.parts)

    @property
    def pending_points(self) -> float:
        """Return the points that are still to give by hand."""
        return total(part.max_points for part in self.manual_parts)

    @property
    def review(self) -> bool:
        """Return whether the instructor must review the submission."""
        return bool(self.doubtful)

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Return the parts that the instructor must review, and has not settled."""
        doubtful = (part.name for part in self.parts if part.needs_review)
        return tuple(name for name in doubtful if not self.is_settled(name))

    def is_settled(self, part: str) -> bool:
        """Return whether a person gave points for a part in place of the checks."""
        return self.mark is not None and part in self.mark.settled

    @property
    def exit_code(self) -> int:
        """Return 0 for full marks, 1 for points lost; 3 without a mark, 4 for a review."""
        if self.score is None:
            return 3
        if self.review:
            return NEEDS_REVIEW
        return 0 if self.score == self.max_score else 1
