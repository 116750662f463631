"""What `grade trace` has seen: the cases of a part's launches, and the calls of one of them."""

from dataclasses import dataclass

from grader.grading_plugin.relaunch import ranks_text
from grader.judge.explanation.timeline import edges_of, timeline_of
from grader.model.evidence import Evidence
from grader.model.report import RunFailure, TestResult
from grader.trace.calls import Trace


@dataclass(frozen=True)
class TracedCase:
    """One case that was put to ranks."""

    number: int
    """1, 2, ... over all launches: what --case takes."""
    launch: int
    """1, 2, ..."""
    test: str
    """That started the launch; others may look at its outcomes as well."""
    ranks: int
    label: str
    num_calls: int
    failure: RunFailure | None
    """Why it has no outcome."""
    stand_in: str = ""
    """The part whose file is the course's own in this launch; empty where all is the student's."""
    is_altered: bool = False
    """One of its messages, or every one, was changed on its way: what fails may be due to that."""

    def ends(self, test: TestResult) -> bool:
        """Return whether that this case has no outcome is what a test was failed for."""
        start = f"{ranks_text(self.ranks)}, {self.label}: "
        return self.failure is not None and test.message in (
            self.failure.message,
            f"{start}{self.failure.message}",
        )


@dataclass(frozen=True)
class Traced:
    """All cases, and one of them with its calls."""

    assignment: str
    part: str
    submission: str
    tests: tuple[TestResult, ...]
    """What became of the tests that were run."""
    cases: tuple[TracedCase, ...]
    chosen: TracedCase
    trace: Trace
    """Of the chosen case: the calls of the student's code."""
    began_ns: int
    """When its inputs were handed out, on the clock of the calls."""
    num_others: int = 0
    """Calls outside of the student's phase."""


def evidence_of(traced: Traced) -> Evidence:
    """Return the chosen case to be drawn, with all its calls and messages."""
    trace, chosen = traced.trace, traced.chosen
    timeline = timeline_of(trace, most_spans=trace.num_calls, most_messages=trace.num_calls)
    case = f"{ranks_text(chosen.ranks)}, {chosen.label}"
    return Evidence(case, chosen.ranks, edges=edges_of(trace), timeline=timeline)
