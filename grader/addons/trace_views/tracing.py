"""Grades some tests of a part to see what its ranks call, and keeps the calls of one case."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from grader.addons.trace_views.traced import Traced, TracedCase
from grader.course.courses import Courses
from grader.course.data import Data
from grader.grading import pipeline
from grader.grading.observing import telling
from grader.grading.settings import Settings
from grader.grading_plugin.marks import Selection
from grader.intake import process as intake
from grader.intake.placement.recognition import recognise
from grader.intake.placement.table import place
from grader.judge.explanation.launch_result import (
    LaunchResult,
    explain,
    explaining,
    student_trace,
)
from grader.model.errors import GraderError, UsageError
from grader.model.report import Outcome, PartResult, RunFailure, Verdict
from grader.recording.journal import Journal, Step
from grader.recording.launch_plan import MOST_TRACE_NUM_BYTES, CaseCall, LaunchPlan
from grader.recording.observation import LaunchObservation, Observer
from grader.recording.replay import Find
from grader.trace.calls import Trace


@dataclass(frozen=True)
class CaseTrace:
    """What was seen of one case, whatever came of it."""

    began_ns: int
    """When its inputs were handed out, on the clock of the calls."""
    trace: Trace
    """The calls of the student's phase, as far as they went."""
    num_others: int = 0
    """How many calls were made outside of that phase: ours, and those that no rule is about."""


_NOTHING = CaseTrace(0, Trace(()))


def trace(
    options: argparse.Namespace,
    courses: Courses,
    *,
    is_sealed: bool,
    data: Data,
    secret: bytes,
    recorded: Find | None = None,
    observe: Observer | None = None,
    progress: Callable[[str], None],
) -> Traced:
    """Run a test of a part as `grade check` does; return its cases, and the calls of one of them.

    options: of the command line. Without --case it is the first case that fails, else the first
    with any call. data: the images that inputs may be made of. secret: what they follow from.
    recorded: finds what was observed before, which is not run again. observe: observes, in place of
    ranks. progress: is told how far it is.
    Raises UsageError where the grading would be sealed, where several parts could be meant, where
    nothing was put to ranks, and for a number that no case has, GraderError where the grader fails.
    """
    if is_sealed:
        raise UsageError(
            "a sealed grading does not show what `grade trace` shows; run it where the code is "
            "written, outside the container"
        )
    part = options.part or _only_part(options, courses)
    seen = _Seen(part, options.case)
    only = (options.only,) if options.only else ()
    settings = Settings(
        courses=courses,
        secret=secret,
        parts=(part,),
        # The first test may be about other numbers of ranks than the one asked for.
        selection=Selection(only, options.ranks, first_with_ranks=not only and not options.ranks),
        progress=progress,
        journal=Journal(on_started=seen.started),
        on_observed=seen.observed,
        recorded=recorded,
        launch=None if observe is None else explaining(telling(observe, seen.observed)),
        data=data,
    )
    report = pipeline.grade(options.submission, assignment=options.assignment, settings=settings)
    (graded,) = report.parts
    chosen = _chosen(seen, graded)
    if chosen is None:
        raise _nothing_to_show(graded, seen.cases, options.case)
    found = seen.kept[chosen.number]
    run = tuple(test for test in graded.tests if test.verdict is not Verdict.SKIPPED)
    return Traced(
        assignment=report.assignment,
        part=graded.name,
        submission=report.submission,
        tests=graded.tests if only else run or graded.tests,
        cases=tuple(seen.cases),
        chosen=chosen,
        trace=found.trace,
        began_ns=found.began_ns,
        num_others=found.num_others,
    )


def _traces(plan: LaunchPlan, observed: LaunchObservation) -> Iterator[CaseTrace]:
    """Yield what was seen of each case that was begun."""
    for case in observed.cases:
        yield _trace_of(plan, case.began_ns, case.trace)
    end = observed.end
    if end is not None:
        # Where it has ended between two cases, the next one has no call.
        yield _NOTHING if end.began_ns is None else _trace_of(plan, end.began_ns, end.trace)


def _trace_of(plan: LaunchPlan, began_ns: int, everything: Trace) -> CaseTrace:
    seen = student_trace(plan, everything)
    return CaseTrace(began_ns, seen, everything.num_calls - seen.num_calls)


def _only_part(options: argparse.Namespace, courses: Courses) -> str:
    """Return the one part that something was handed in for.

    Raises UsageError where there are several.
    """
    submission = intake.read(options.submission, courses.wanted(options.assignment))
    found = (
        recognise(submission, courses.assignments())
        if options.assignment is None
        else courses.assignment(options.assignment)
    )
    names = [part.name for part in found.parts_with(place(submission, found).chosen) or found.parts]
    if len(names) > 1:
        raise UsageError(
            f"`grade trace` shows one part of {found.name}; name it with --part: {', '.join(names)}"
        )
    return names[0]


class _Seen:
    """The cases of a part, as they come, and the calls of those that may be shown."""

    def __init__(self, part: str, wanted: int | None) -> None:
        self._part = part
        self._wanted = wanted
        self._step: Step | None = None
        self._num_launches = 0
        self.cases: list[TracedCase] = []
        self.kept: dict[int, CaseTrace] = {}
        """By the number of the case."""

    def started(self, step: Step) -> None:
        """Take note of the test in progress."""
        self._step = step

    def observed(self, plan: LaunchPlan, observed: LaunchObservation) -> None:
        """Take over the cases of a launch; of a part below, which is graded on the way, none."""
        if self._step is None or self._step.part != self._part:
            return
        self._num_launches += 1
        launched = explain(plan, observed)
        for index, found in enumerate(_traces(plan, observed)):
            case = self._case(plan.cases[index], plan, found, _failure_of(launched, index))
            self.cases.append(case)
            if self._may_be_shown(case, found):
                self.kept[case.number] = found

    def _case(
        self, call: CaseCall, plan: LaunchPlan, found: CaseTrace, failure: RunFailure | None
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
            is_altered=call.message_fault is not None,
        )

    def _may_be_shown(self, case: TracedCase, found: CaseTrace) -> bool:
        if self._wanted is not None:
            return case.number == self._wanted
        kept = [each for each in self.cases if each.number in self.kept]
        if not any(each.num_calls for each in kept) and case.num_calls:
            return True
        num_bytes = sum(each.trace.num_bytes for each in (*self.kept.values(), found))
        has_room = num_bytes <= MOST_TRACE_NUM_BYTES
        return has_room and (not kept or _is_failure(case))


def _is_failure(case: TracedCase) -> bool:
    # With a message altered, what fails may be due to that.
    return case.failure is not None and not case.is_altered


def _chosen(seen: _Seen, part: PartResult) -> TracedCase | None:
    """Return the case to show: one that has failed a test, else one that failed, or with calls."""
    kept = [case for case in seen.cases if case.number in seen.kept]
    # What was asked for comes after what it requires.
    failed = [case for test in reversed(part.tests) for case in kept if case.ends(test)]
    others = [case for case in kept if _is_failure(case)]
    with_calls = [case for case in kept if case.num_calls]
    return next(iter([*failed, *others, *with_calls, *kept]), None)


def _failure_of(launched: LaunchResult, index: int) -> RunFailure | None:
    """Return why a case of a launch has no outcome."""
    if index == len(launched.outcomes):
        return launched.failure
    outcome = launched.outcomes[index]
    return None if isinstance(outcome, Outcome) else outcome


def _nothing_to_show(part: PartResult, cases: list[TracedCase], number: int | None) -> GraderError:
    """Return the error about a trace that is not there."""
    if cases:
        return UsageError(
            f"there is no case {number}: {part.name} has {len(cases)}, numbered from 1; leave "
            "--case out to list them"
        )
    if part.verdict is Verdict.JUDGE_ERROR and part.message:
        return GraderError(f"{part.name} could not be graded: {part.message}")
    why = part.message or "no check runs with this --only or --ranks"
    return UsageError(f"no ranks ran anything of {part.name}: {why}")
