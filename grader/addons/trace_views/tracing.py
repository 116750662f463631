"""Grades some tests of a part to see what its ranks call, and keeps the calls of one case."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.course.courses import Courses
from grader.course.data import Data
from grader.grading import pipeline
from grader.grading.observing import telling
from grader.grading.settings import Settings
from grader.grading_plugin.relaunch import ranks_text
from grader.grading_plugin.selection import Selection
from grader.intake import process as intake
from grader.intake.placement.recognition import recognise
from grader.intake.placement.table import place
from grader.judge.explanation.launch_result import (
    LaunchResult,
    explain,
    explaining,
    student_trace,
)
from grader.judge.explanation.timeline import edges_of, timeline_of
from grader.model.errors import GraderError, UsageError
from grader.model.evidence import Evidence
from grader.model.report import Outcome, PartResult, RunFailure, TestResult, Verdict
from grader.recording.journal import Journal, Step
from grader.recording.launch_plan import MOST_TRACE_NUM_BYTES, LaunchPlan
from grader.recording.observation import LaunchObservation, Observer
from grader.recording.replay import Find
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
    trace: Trace | None = None
    """The calls of the student's code, as far as they went; None where they are not kept."""
    began_ns: int = 0
    """When its inputs were handed out, on the clock of the calls."""
    num_others: int = 0
    """Calls outside of the student's phase: ours, and those that no rule is about."""

    def ends(self, test: TestResult) -> bool:
        """Return whether that this case has no outcome is what a test was failed for."""
        start = f"{ranks_text(self.ranks)}, {self.label}: "
        return self.failure is not None and test.message in (
            self.failure.message,
            f"{start}{self.failure.message}",
        )


@dataclass(frozen=True)
class Traced:
    """All cases, and which of them is shown with its calls."""

    assignment: str
    part: str
    submission: str
    tests: tuple[TestResult, ...]
    """What became of the tests that were run."""
    cases: tuple[TracedCase, ...]
    chosen: TracedCase

    @property
    def trace(self) -> Trace:
        """Return the calls of the chosen case."""
        return self.chosen.trace or Trace(())

    @property
    def evidence(self) -> Evidence:
        """Return the chosen case to be drawn, with all its calls and messages."""
        most = self.trace.num_calls
        timeline = timeline_of(self.trace, most_spans=most, most_messages=most)
        case = f"{ranks_text(self.chosen.ranks)}, {self.chosen.label}"
        return Evidence(case, self.chosen.ranks, edges=edges_of(self.trace), timeline=timeline)


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
    chosen = _chosen(seen.cases, graded)
    if chosen is None:
        raise _nothing_to_show(graded, seen.cases, options.case)
    run = tuple(test for test in graded.tests if test.verdict is not Verdict.SKIPPED)
    return Traced(
        assignment=report.assignment,
        part=graded.name,
        submission=report.submission,
        tests=graded.tests if only else run or graded.tests,
        cases=tuple(seen.cases),
        chosen=chosen,
    )


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
    """The cases of a part, as they come, with the calls of those that may be shown."""

    def __init__(self, part: str, wanted: int | None) -> None:
        self._part = part
        self._wanted = wanted
        self._step: Step | None = None
        self._num_launches = 0
        self.cases: list[TracedCase] = []

    def started(self, step: Step) -> None:
        """Take note of the test in progress."""
        self._step = step

    def observed(self, plan: LaunchPlan, observed: LaunchObservation) -> None:
        """Take over the cases of a launch; of a part below, which is graded on the way, none."""
        if self._step is None or self._step.part != self._part:
            return
        self._num_launches += 1
        launched = explain(plan, observed)
        found = [(case.began_ns, case.trace) for case in observed.cases]
        if observed.end is not None:
            # Where it has ended between two cases, the next one has no call.
            began_ns = observed.end.began_ns
            found.append((0, Trace(())) if began_ns is None else (began_ns, observed.end.trace))
        for index, (began_ns, everything) in enumerate(found):
            trace = student_trace(plan, everything)
            case = TracedCase(
                number=len(self.cases) + 1,
                launch=self._num_launches,
                test=self._step.test,
                ranks=plan.ranks,
                label=plan.cases[index].label,
                num_calls=trace.num_calls,
                failure=_failure_of(launched, index),
                stand_in=self._step.replaced,
                is_altered=plan.cases[index].message_fault is not None,
                began_ns=began_ns,
                num_others=everything.num_calls - trace.num_calls,
            )
            is_kept = self._may_be_shown(case, trace)
            self.cases.append(replace(case, trace=trace) if is_kept else case)

    def _may_be_shown(self, case: TracedCase, trace: Trace) -> bool:
        if self._wanted is not None:
            return case.number == self._wanted
        kept = [each.trace for each in self.cases if each.trace is not None]
        if not any(each.num_calls for each in kept) and case.num_calls:
            return True
        has_room = sum(each.num_bytes for each in (*kept, trace)) <= MOST_TRACE_NUM_BYTES
        return has_room and (not kept or _is_failure(case))


def _is_failure(case: TracedCase) -> bool:
    # With a message altered, what fails may be due to that.
    return case.failure is not None and not case.is_altered


def _chosen(cases: Sequence[TracedCase], part: PartResult) -> TracedCase | None:
    """Return the case to show: one that has failed a test, else one that failed, or with calls."""
    kept = [case for case in cases if case.trace is not None]
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
