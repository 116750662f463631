"""Grades some tests of a part to see what its ranks call, and keeps the calls of one case."""

import argparse
from collections.abc import Callable

from grader import pipeline
from grader.data import Data
from grader.errors import GraderError, UsageError
from grader.model import Outcome, PartResult, RunFailure, Verdict
from grader.report.traced import Traced, TracedCase
from grader.runner.journal import Journal, Step
from grader.runner.plan import CaseCall, CaseTrace, Launched, Plan
from grader.secret import secret_beside_ranks
from grader.settings import Settings
from grader.suite.selection import Selection
from grader.trace.calls import Trace

_NOTHING = CaseTrace(0, Trace(()))


def trace(
    options: argparse.Namespace, is_sealed: bool, data: Data, progress: Callable[[str], None]
) -> Traced:
    """Run a test of a part as `grade check` does; return its cases, and the calls of one of them.

    options: of the command line. Without --case it is the first case that fails, else the first
    with any call. data: the images that inputs may be made of. progress: is told how far it is.
    Raises UsageError where the grading would be sealed, where nothing was put to ranks, and for a
    number that no case has, GraderError where the grader fails.
    """
    if is_sealed:
        raise UsageError(
            "`grade trace` shows what a sealed grading keeps to itself; run it where the code is "
            "written, outside of the container"
        )
    seen = _Seen(options.part, options.case)
    only = (options.only,) if options.only else ()
    settings = Settings(
        secret=secret_beside_ranks(is_sealed=False),
        parts=(options.part,),
        selection=Selection(only, options.ranks, first_with_ranks=not only),
        progress=progress,
        journal=Journal(on_started=seen.started),
        on_launched=seen.launched,
        data=data,
    )
    report = pipeline.grade(options.submission, assignment=options.assignment, settings=settings)
    (graded,) = report.parts
    if seen.chosen is None:
        raise _nothing_to_show(graded, seen.cases, options.case)
    return Traced(
        assignment=report.assignment,
        part=graded.name,
        submission=report.submission,
        tests=graded.tests,
        cases=tuple(seen.cases),
        chosen=seen.chosen,
        trace=seen.trace.trace,
        began_ns=seen.trace.began_ns,
    )


class _Seen:
    """The cases of a part, as they come; the calls of one of them, which is all that is kept."""

    def __init__(self, part: str, wanted: int | None) -> None:
        self._part = part
        self._wanted = wanted
        self._step: Step | None = None
        self._num_launches = 0
        self.cases: list[TracedCase] = []
        self.chosen: TracedCase | None = None
        self.trace = _NOTHING

    def started(self, step: Step) -> None:
        """Take note of the test in progress."""
        self._step = step

    def launched(self, plan: Plan, launched: Launched) -> None:
        """Take over the cases of a launch; of a part below, which is graded on the way, none."""
        if self._step is None or self._step.part != self._part:
            return
        self._num_launches += 1
        traces = list(launched.traces)
        if launched.failure is not None and len(traces) == len(launched.outcomes):
            # It has ended between two cases: the next one has no call.
            traces.append(_NOTHING)
        for index, found in enumerate(traces):
            case = self._case(plan.cases[index], plan, found, _failure_of(launched, index))
            self.cases.append(case)
            if self._is_better(case):
                self.chosen, self.trace = case, found

    def _case(
        self, call: CaseCall, plan: Plan, found: CaseTrace, failure: RunFailure | None
    ) -> TracedCase:
        assert self._step is not None
        return TracedCase(
            number=len(self.cases) + 1,
            launch=self._num_launches,
            test=self._step.test,
            ranks=plan.ranks,
            label=call.label,
            num_calls=found.trace.num_calls,
            failure=failure,
            stand_in=self._step.replaced,
            is_altered=call.altered_message is not None,
        )

    def _is_better(self, case: TracedCase) -> bool:
        """Return whether this case is to be shown in place of the one chosen so far."""
        if self._wanted is not None:
            return case.number == self._wanted
        return self.chosen is None or _interest(case) > _interest(self.chosen)


def _interest(case: TracedCase) -> int:
    # With a message altered, what fails may be due to that.
    if case.failure is not None and not case.is_altered:
        return 2
    return 1 if case.num_calls else 0


def _failure_of(launched: Launched, index: int) -> RunFailure | None:
    """Return why a case of a launch has no outcome."""
    if index == len(launched.outcomes):
        return launched.failure
    outcome = launched.outcomes[index]
    return None if isinstance(outcome, Outcome) else outcome


def _nothing_to_show(part: PartResult, cases: list[TracedCase], number: int | None) -> GraderError:
    """Return the error about a trace that is not there."""
    if cases:
        return UsageError(
            f"there is no case {number}: {part.name} has put {len(cases)} to ranks, which are "
            "numbered from 1; leave --case out to see them listed"
        )
    if part.verdict is Verdict.JUDGE_ERROR and part.message:
        return GraderError(f"{part.name} could not be graded: {part.message}")
    why = part.message or "no test of it runs so; another --only or --ranks may"
    return UsageError(f"nothing of {part.name} was put to ranks: {why}")
