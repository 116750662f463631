"""The command that shows the calls of a submission, without a mark: trace.

It runs some tests of a part to see what the ranks call, and keeps the calls of one case.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from grader.addons.trace_views.trace_json import perfetto_json, trace_json
from grader.addons.trace_views.trace_page import trace_page
from grader.addons.trace_views.trace_rows import Traced, TracedCase
from grader.commands.context import courses_of, data_folder, is_sealed, live_view, look
from grader.commands.recorder import kept_launches, require_observer
from grader.commands.recordings import secret_of
from grader.commands.reporting import named_seed
from grader.course.courses import Courses
from grader.course.data import Data
from grader.course.secret import secret_beside_ranks
from grader.course.versions import observer_digest
from grader.grading import pipeline
from grader.grading.observing import telling
from grader.grading.settings import Settings
from grader.grading_plugin.marks import Selection
from grader.intake import process as intake
from grader.intake.placement.recognition import assignment_of
from grader.intake.placement.table import place
from grader.judge.explanation.launch_result import LaunchResult, explain, explaining, student_trace
from grader.model.errors import GraderError, UsageError
from grader.model.plural import counted
from grader.model.report import Outcome, PartResult, RunFailure, Verdict
from grader.recording.journal import Journal, Step
from grader.recording.launch_plan import MOST_TRACE_NUM_BYTES, LaunchPlan
from grader.recording.observation import LaunchObservation
from grader.recording.recording import read
from grader.recording.replay import replaying
from grader.report.files import require_writable, unwritten
from grader.report.terminal_page import Page
from grader.trace.calls import Trace


def show_trace(options: argparse.Namespace) -> int:
    """Show what the ranks of a part called; return 0 once it is shown, whatever the verdict."""
    require_writable([options.json, options.perfetto])
    with live_view(options) as live:
        traced = trace(options, live.progress)
    data = trace_json(traced) if options.json else ""
    problem = unwritten(Path(options.json), data) if options.json not in (None, "-") else ""
    if options.perfetto is not None:
        problem = unwritten(options.perfetto, perfetto_json(traced.evidence)) or problem
    colour, width = look(sys.stdout.isatty(), options)
    page = Page(colour, options.plain, width, verbose=False)
    print(data if options.json == "-" else trace_page(traced, page, options.limit))
    if problem:
        raise GraderError(problem)
    return 0


def trace(options: argparse.Namespace, progress: Callable[[str], None]) -> Traced:
    """Run a test of a part as `grade check` does; return its cases, and the calls of one of them.

    Without --case, shows the first case that fails, else the first with any call. Cases that the
    last check of the folder ran do not run again. progress: is told how far it is.
    Raises UsageError if the grading would be sealed, if several parts could be meant, if no rank
    ran, and for an unknown number of a case, GraderError if the grader fails.
    """
    if is_sealed():
        raise UsageError(
            "`grade trace` does not work in a sealed grading; run it on your own machine, "
            "outside the container"
        )
    recording = None if options.recording is None else read(options.recording)
    if recording is None:
        observe, secret = None, secret_beside_ranks(is_sealed=False, seed=named_seed(options))
    else:
        require_observer(options.recording, recording.header, observer_digest())
        observe = replaying(recording.launches.get, recording.launches.values)
        secret = secret_of(recording.header, named_seed(options))
    courses = courses_of(options)
    part = options.part or _only_part(options, courses)
    seen = _Seen(part, options.case, options.ranks)
    only = (options.only,) if options.only else ()
    # What a run without --ranks observed can only be judged as a whole.
    ranks = options.ranks if recording is None else None
    settings = Settings(
        courses=courses,
        secret=secret.data,
        parts=(part,),
        # The first test may use other numbers of ranks than the one that --ranks names.
        selection=Selection(only, ranks, first_with_ranks=not only and not options.ranks),
        progress=progress,
        journal=Journal(on_started=seen.started),
        on_observed=seen.observed,
        recorded=kept_launches().find,
        launch=None if observe is None else explaining(telling(observe, seen.observed)),
        data=Data(data_folder(options)),
    )
    report = pipeline.grade(options.submission, assignment=options.assignment, settings=settings)
    (graded,) = report.parts
    chosen = _chosen(seen.cases, graded)
    if not seen.cases and ranks != options.ranks:
        raise UsageError(f"the recording has no run of {part} on {counted(options.ranks, 'rank')}")
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
    """Return the one part that was handed in. Raises UsageError for several."""
    submission = intake.read(options.submission, courses.wanted(options.assignment))
    found = assignment_of(submission, options.assignment, courses)
    names = [part.name for part in found.parts_with(place(submission, found).chosen) or found.parts]
    if len(names) > 1:
        raise UsageError(
            f"`grade trace` shows one part of {found.name} at a time; name it with --part: "
            f"{', '.join(names)}"
        )
    return names[0]


class _Seen:
    """The cases of a part, as they come, with the calls of those that may be shown."""

    def __init__(self, part: str, wanted: int | None, ranks: int | None) -> None:
        self._part = part
        self._ranks = ranks
        self._wanted = wanted
        self._step: Step | None = None
        self._num_launches = 0
        self.cases: list[TracedCase] = []

    def started(self, step: Step) -> None:
        """Take note of the test in progress."""
        self._step = step

    def observed(self, plan: LaunchPlan, observed: LaunchObservation) -> None:
        """Take over the cases of a launch, but not of another part that is graded on the way."""
        if self._step is None or self._step.part != self._part:
            return
        if self._ranks not in (None, plan.ranks):
            return
        self._num_launches += 1
        launched = explain(plan, observed)
        found = [(case.began_ns, case.trace) for case in observed.cases]
        if observed.end is not None:
            # If the launch ended between two cases, the next one has no calls.
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
    # If a message was altered, that may be why the case fails.
    return case.failure is not None and not case.is_altered


def _chosen(cases: Sequence[TracedCase], part: PartResult) -> TracedCase | None:
    """Return the case to show: one that has failed a test, else one that failed, or with calls."""
    kept = [case for case in cases if case.trace is not None]
    # The test that was asked for comes after those that it requires.
    failed = [case for test in reversed(part.tests) for case in kept if case.ends(test)]
    others = [case for case in kept if _is_failure(case)]
    with_calls = [case for case in kept if case.num_calls]
    return next(iter([*failed, *others, *with_calls, *kept]), None)


def _failure_of(launched: LaunchResult, index: int) -> RunFailure | None:
    if index == len(launched.outcomes):
        return launched.failure
    outcome = launched.outcomes[index]
    return None if isinstance(outcome, Outcome) else outcome


def _nothing_to_show(part: PartResult, cases: list[TracedCase], number: int | None) -> GraderError:
    if cases:
        return UsageError(
            f"there is no case {number}: {part.name} has {len(cases)}, numbered from 1; leave "
            "--case out to list them"
        )
    if part.verdict is Verdict.JUDGE_ERROR and part.message:
        return GraderError(f"{part.name} could not be graded: {part.message}")
    why = part.message or "no check runs with this --only or --ranks"
    is_left_out = part.verdict is Verdict.SKIPPED
    advice = "; leave out --only and --ranks to see all cases" if is_left_out else ""
    return UsageError(f"no rank ran {part.name}: {why.removeprefix('not run: ')}{advice}")
