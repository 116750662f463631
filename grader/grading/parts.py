"""Grades one part: by its visible tests, on our version of one below it, by its hidden tests."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from grader.course.assignment import Assignment
from grader.course.assignment_file import Part
from grader.course.cross_references import source_files
from grader.grading.settings import Settings
from grader.grading_plugin.part_context import Launcher, PartContext
from grader.grading_plugin.session import SuiteResult, grade_suite, prices
from grader.intake.placement.recognition import missing_text, unused_text
from grader.intake.placement.table import Placement
from grader.model.errors import GraderError, GradingLost
from grader.model.finding import Finding, found
from grader.model.points import points_text, total, written
from grader.model.report import Feedback, PartResult, TestResult, Verdict
from grader.recording.launch_plan import Limits

_PART_CASES = 90
_START_S = 600.0
"""What a grading takes before and after its parts: the selftest, what a person marks."""


@dataclass(frozen=True)
class GradingTask:
    """A submission that is graded as one of an assignment, and how."""

    placement: Placement
    settings: Settings
    launch: Launcher


@dataclass(frozen=True)
class PartOutcome:
    """A part as far as it has been graded, and how to go on."""

    result: PartResult
    context: PartContext | None = None
    """None when nothing was handed in."""
    has_ended: bool = False
    """No more runs are worth starting."""


def grade_part(task: GradingTask, part: Part, earlier: Mapping[str, PartOutcome]) -> PartOutcome:
    """Grade one part by its visible tests; again on our version of a part below that has failed."""
    graded = _grade_once(task, part)
    first = graded.result
    lost_points = first.verdict not in (
        Verdict.ACCEPTED,
        Verdict.NOT_ATTEMPTED,
        Verdict.JUDGE_ERROR,
    )
    if not lost_points or not _names_what_it_builds_on(task, part):
        return graded
    below = earlier.get(part.builds_on or "")
    if below is None:
        other = next(
            each for each in task.placement.assignment.parts if each.name == part.builds_on
        )
        below = _grade_once(task, other)
    if below.result.verdict is Verdict.ACCEPTED:
        return graded
    if not all(
        (task.placement.assignment.folder / path).is_file()
        for path in (part.stand_in or {}).values()
    ):
        own = f"with its own {part.builds_on}, which the students' edition lacks"
        text = f"the course grades {part.name} again {own}"
        note = found("note.no_stand_in", text, part=part.name)
        return replace(graded, result=replace(first, notes=(*first.notes, note)))
    return _grade_again(task, part, graded)


def _names_what_it_builds_on(task: GradingTask, part: Part) -> bool:
    """Return whether scripts of a part, or what they name, name a file that we have as well."""
    replaced, sources = part.stand_in or {}, task.placement.sources_of(part)
    named: set[str] = set()
    ahead = {*part.files}
    while new := ahead - named:
        named |= new
        texts = (sources.get(file, b"").decode(errors="replace") for file in new)
        words = {word for text in texts for word in re.findall(r"\w+", text)}
        ahead = {each for each in {*sources, *replaced} if Path(each).stem in words}
    return not named.isdisjoint(replaced)


def _grade_once(
    task: GradingTask, part: Part, stand_in: Mapping[str, bytes] | None = None
) -> PartOutcome:
    """Grade one part by its visible tests, once; with `stand_in` for what it builds on."""
    placement, settings = task.placement, task.settings
    assignment = placement.assignment
    part, course_only = _as_given(assignment, part)
    missing = [
        file
        for file in part.files
        if file not in placement.chosen and file not in (part.stand_in or {})
    ]
    if missing:
        text, meant = missing_text(placement, part, missing[0])
        notes = (*_may_be_meant(meant), *course_only)
        return without_tests(part, Verdict.NOT_ATTEMPTED, text + meant, notes)
    files = placement.sources_of(part)
    started_s = time.monotonic()
    context = PartContext(
        assignment=assignment.name,
        part=part.name,
        entry=part.entry,
        backend=part.backend,
        probes=assignment.probe_sources(),
        limits=limits_of(part),
        folders=placement.folders_of(part),
        windows=part.windows,
        submission={**files, **(stand_in or {})},
        own_sources={path: data for path, data in files.items() if path not in (stand_in or {})},
        support={file: path.read_bytes() for file, path in assignment.support_paths().items()},
        launch=task.launch,
        template=assignment.template,
        settings=settings,
        own_part_replaced=part.builds_on if stand_in else None,
        feedback=part.feedback or Feedback.ALL,
        left_out=part.course_only,
    )
    graded, problem = _graded(assignment.folder / part.suite, context, part.points)
    result = _part_result(
        part, graded.tests, graded.num_launches, time.monotonic() - started_s, problem
    )
    if result.verdict is Verdict.NOT_ATTEMPTED:
        unused = _may_be_meant(unused_text(placement, part))
        result = replace(result, notes=(*result.notes, *unused))
    notes = tuple(
        Finding(
            "note.refused_by_guard",
            f"{refusal}; the grader refused this, but the program continued. Your instructor "
            "reviews it",
        )
        for refusal in graded.refusals[:1]
    )
    notes += (*graded.remarks, *graded.notes, *course_only)
    if not settings.selection.is_whole:
        result = replace(result, max_points=total(test.max_points for test in graded.tests))
    return PartOutcome(
        replace(result, notes=(*result.notes, *notes)), context, graded.has_ended or bool(problem)
    )


def _may_be_meant(text: str) -> tuple[Finding, ...]:
    return (found("note.unused_file", text),) if text else ()


def without_tests(
    part: Part, verdict: Verdict, message: str, notes: tuple[Finding, ...] = ()
) -> PartOutcome:
    """Return the outcome of a part of which no test was run."""
    return PartOutcome(
        PartResult(part.name, part.title, verdict, 0, part.points, message, (), notes)
    )


def _as_given(assignment: Assignment, part: Part) -> tuple[Part, tuple[Finding, ...]]:
    """Return a part as it is graded here, and for students what of it only the course grades."""
    if not part.course_only or not _holds_what_students_get(assignment):
        return structs.replace(part, course_only=()), ()
    try:
        found_here = prices(assignment.folder / part.suite)
    except GraderError:  # which the part says when it is graded
        return part, ()
    left_out = [price for price in found_here if price.test in part.course_only]
    rest = total(price.points for price in left_out)
    text = f"only the course can grade {part.name}: the students' edition lacks the answers"
    if rest != part.points:
        text = (
            f"only the course grades {written(rest)} of the {written(part.points)} points "
            f"for {part.name}: {'; '.join(price.asks for price in left_out)}"
        )
    note = found("note.course_only", text, part=part.name)
    return structs.replace(part, points=total((part.points, -rest))), (note,)


def _holds_what_students_get(assignment: Assignment) -> bool:
    """Return whether this is the students' edition: of the suites it has no file but those listed.

    A course may also be graded without its references, by all of its files.
    """
    listed = {"assignment.toml", *assignment.students}
    here = {name for name, _ in source_files(assignment.folder)}
    return assignment.is_for_students and bool(assignment.students) and here <= listed


def limits_of(part: Part) -> Limits:
    """Return what the runs of a part may use.

    All of them together as long as many cases at their limit, but for what the file of the
    assignment says.
    """
    derived_s = max(Limits.part_s, _PART_CASES * part.case_time_limit_s)
    return Limits(case_s=part.case_time_limit_s, part_s=part.part_time_limit_s or derived_s)


def whole_limit_s(parts: Sequence[Part]) -> float:
    """Return how long a grading of these parts may take: beyond, it is the grader that fails.

    Each part may be graded three times: its visible tests, again on a stand-in, its hidden tests.
    What the judge does itself may take as long as all runs.
    """
    return _START_S + 2 * 3 * sum(limits_of(part).part_s for part in parts)


def _graded(suite: Path, context: PartContext, points: float) -> tuple[SuiteResult, str]:
    """Run a suite; return what it found, and what is wrong with it. Raises GradingLost."""
    try:
        graded = grade_suite(suite, context)
    except GradingLost:
        raise
    except GraderError as error:
        return SuiteResult((), 0, has_ended=True), str(error)
    maximum = total(test.max_points for test in graded.tests)
    if maximum != points and context.settings.selection.is_whole:
        return graded, (
            f"the suite's tests are worth {points_text(maximum)}, "
            f"but assignment.toml says {written(points)}"
        )
    return graded, ""


def with_hidden_tests(task: GradingTask, part: Part, graded: PartOutcome) -> PartResult:
    """Grade the hidden tests of a part on what its visible ones were graded on; add them.

    Of time, launches and the reason of a failure nothing is added.
    """
    visible, points = graded.result, total((graded.result.max_points, part.hidden_points))
    if graded.context is None:
        return replace(visible, max_points=points)
    context = replace(
        graded.context,
        settings=replace(graded.context.settings, on_position=lambda position: None),
        is_hidden=True,
        feedback=part.hidden_feedback or Feedback.VERDICT,
        has_ended=graded.has_ended,
    )
    suite = task.placement.assignment.folder / part.hidden_suite
    of_hidden, problem = _graded(suite, context, part.hidden_points)
    tests = of_hidden.tests
    if problem and task.settings.shows_hidden:
        # As a hidden test of its own, for students read what is made of a full report, too.
        tests = (*tests, _suite_failure(problem))
    if problem:
        problem = (
            "the hidden checks could not be graded; your instructor can see why with --show-hidden"
        )
    if not context.settings.selection.is_whole:
        points = total((visible.max_points, *(test.max_points for test in tests)))
    if not (tests or problem):  # as where only a visible test is asked for
        return visible
    hidden = _part_result(part, tests, 0, 0, problem)
    has_none = not (visible.tests or visible.message)
    is_worse = has_none or hidden.verdict.severity > visible.verdict.severity
    return replace(
        visible,
        verdict=hidden.verdict if is_worse else visible.verdict,
        message=hidden.message if is_worse else visible.message,
        points=total((visible.points, hidden.points)),
        max_points=points,
        tests=(*visible.tests, *tests),
    )


def _suite_failure(problem: str) -> TestResult:
    """Return what is wrong with a hidden suite itself, which no student is told."""
    return TestResult(
        name="test_the_suite_itself",
        sentence="The hidden checks run without an error.",
        verdict=Verdict.JUDGE_ERROR,
        points=0,
        max_points=0,
        message=problem,
        is_hidden=True,
        feedback=Feedback.VERDICT,
    )


def _part_result(
    part: Part, tests: tuple[TestResult, ...], num_launches: int, wall_time_s: float, problem: str
) -> PartResult:
    """Sum up the tests of a part: the most severe verdict of those that cost points speaks for it.

    What a test of no points finds in a part of some is advice: a note, and no verdict.
    """
    paid = [test for test in tests if test.max_points > 0]
    errors = [test for test in tests if test.verdict is Verdict.JUDGE_ERROR]
    worst = max(errors or paid or tests, key=lambda test: test.verdict.severity, default=None)
    verdict = worst.verdict if worst is not None else Verdict.JUDGE_ERROR
    return PartResult(
        name=part.name,
        title=part.title,
        verdict=Verdict.JUDGE_ERROR if problem else verdict,
        points=total(test.points for test in tests),
        max_points=part.points,
        message=problem or (worst.message if worst is not None else ""),
        tests=tests,
        notes=_advice(tests) if paid else (),
        wall_time_s=wall_time_s,
        num_launches=num_launches,
    )


def _advice(tests: tuple[TestResult, ...]) -> tuple[Finding, ...]:
    """Return what failed that is worth nothing; what went wrong with the grader is no advice."""
    spoken = {test.message for test in tests if test.max_points > 0}
    silent = (Verdict.ACCEPTED, Verdict.SKIPPED, Verdict.JUDGE_ERROR)
    return tuple(
        replace(next(iter(test.findings), Finding("", "")), text=test.message, help="")
        for test in tests
        if test.max_points == 0 and test.verdict not in silent and test.message not in spoken
    )


def _grade_again(task: GradingTask, part: Part, graded: PartOutcome) -> PartOutcome:
    """Grade a part on our version of the one it builds on; keep what that gains."""
    first = graded.result
    stand_in = {
        name: (task.placement.assignment.folder / path).read_bytes()
        for name, path in (part.stand_in or {}).items()
    }
    regraded = _grade_once(task, part, stand_in)
    again = regraded.result
    used = first.num_launches + again.num_launches
    time_s = first.wall_time_s + again.wall_time_s
    if again.points <= first.points:
        return replace(graded, result=replace(first, num_launches=used, wall_time_s=time_s))
    is_there = task.placement.chosen.keys() >= stand_in.keys()
    why = "yours failed its own checks" if is_there else "you handed in none"
    note = found(
        "note.graded_again",
        f"graded again with our {part.builds_on} ({why}); before: {first.message}",
        part=part.builds_on or "",
    )
    again = replace(again, notes=(*again.notes, note), num_launches=used, wall_time_s=time_s)
    if again.verdict is Verdict.SKIPPED:
        # All that is left unpaid is what only the student's own version can show.
        again = replace(again, verdict=first.verdict, message=first.message)
    return replace(regraded, result=again)
