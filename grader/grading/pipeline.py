"""The straight line: a submission goes in, a report comes out."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from grader.course.assignment import Assignment
from grader.course.assignment_file import Part
from grader.course.versions import versions
from grader.grading.parts import (
    GradingTask,
    PartOutcome,
    grade_part,
    whole_limit_s,
    with_hidden_tests,
    without_tests,
)
from grader.grading.settings import Settings
from grader.grading_plugin.marks import Selection
from grader.grading_plugin.part_context import Launcher
from grader.grading_plugin.progress import Progress
from grader.grading_plugin.session import possible_ranks, prices
from grader.intake import process as intake
from grader.intake.manual import manual_parts
from grader.intake.placement.recognition import assignment_of, full_name
from grader.intake.placement.table import place
from grader.intake.submission import Submission
from grader.judge.explanation.launch_result import explaining
from grader.model.errors import GraderError, UsageError
from grader.model.plural import counted
from grader.model.points import NOT_ALL_TESTS, total, written
from grader.model.report import PartResult, Report, Verdict
from grader.model.spelling import did_you_mean
from grader.observe.run_control.users import run_uids
from grader.sealed.selftest.protections import Protection, note, refusal

_AFTER_FIRST = "not run, because another part lost points"


def grade(
    path: Path,
    *,
    assignment: str | None = None,
    parts: Sequence[str] | None = None,
    settings: Settings | None = None,
) -> Report:
    """Grade the submission in a folder, zip or tar.

    Raises UsageError when it cannot be graded, GraderError when the grader fails as a whole.
    """
    settings = settings or Settings()
    if parts is not None:
        settings = replace(settings, parts=parts)
    wanted = settings.courses.wanted(assignment)
    return grade_as(intake.read(path, wanted, intake_user(settings)), assignment, settings)


def intake_user(settings: Settings) -> int | None:
    """Return who reads what was handed in: nobody else is this user; None for who we are."""
    return next(run_uids()) if settings.sealed else None


def grade_as(submission: Submission, name: str | None, settings: Settings) -> Report:
    """Grade a submission of the assignment of that name, or of the one whose files it has.

    Raises UsageError when its files are those of no assignment, or of several.
    """
    found = assignment_of(submission, name, settings.courses)
    return grade_submission(submission, found, replace(settings, named=name))


def grade_submission(submission: Submission, assignment: Assignment, settings: Settings) -> Report:
    """Grade every part of one submission."""
    placement, progress = place(submission, assignment), Progress(settings.progress)
    if settings.launch is not None:
        return _grade_all(GradingTask(placement, settings, settings.launch), progress)
    # Judging a recording starts no ranks, so it skips this import.
    from grader.grading.observing import LiveObserver

    with LiveObserver(assignment.needs, settings, progress.silent_rank) as observer:
        if settings.recorded is None:
            observer.begin()
        task = GradingTask(placement, settings, explaining(observer.observe_or_find))
        notes = _selftest_notes(task, explaining(observer.observe)) if settings.sealed else ()
        settings = replace(settings, notes=(*settings.notes, *notes))
        return _grade_all(replace(task, settings=settings), progress)


def selftest(settings: Settings) -> tuple[Protection, ...]:
    """Return the protections of a sealed grading here."""
    from grader.grading.observing import LiveObserver
    from grader.sealed.selftest.examine import examine

    with LiveObserver((), settings) as observer:
        return examine(explaining(observer.observe), _material(settings))


def _selftest_notes(task: GradingTask, launcher: Launcher) -> tuple[str, ...]:
    """Return notes on missing protections. Raises GraderError if an essential one is missing."""
    from grader.sealed.selftest.examine import examine

    settings, data = task.settings, task.settings.data.folder
    needed = [Path(task.placement.submission.origin), *([data] if data is not None else [])]
    protections = examine(
        launcher, _material(settings), needed, kernel_is_tried=settings.kernel_is_tried
    )
    reason = refusal(protections, flags_are_ours=settings.flags_are_ours)
    if reason:
        raise GraderError(reason)
    missing = note(protections, is_for_students=task.placement.assignment.is_for_students)
    return (missing,) if missing else ()


def _grade_all(task: GradingTask, progress: Progress) -> Report:
    placement, settings = task.placement, task.settings
    submission, assignment = placement.submission, placement.assignment
    started_s, started_at = time.monotonic(), datetime.now(UTC)
    if settings.parts is not None and (sentence := assignment.wrong_part(settings.parts)):
        raise UsageError(sentence, *_elsewhere(settings.parts, assignment, settings))
    selected = [part for part in assignment.parts if _is_selected(part.name, settings)]
    without = [part for part in selected if not _has_hidden(part, assignment, settings)]
    if settings.shows_hidden and len(without) == len(selected):
        raise UsageError(f"{assignment.name} has no hidden checks here; leave out --show-hidden")
    settings.journal.limit_whole(whole_limit_s(selected))
    _require_known_checks(selected, task)
    _require_possible_ranks(selected, task)
    graded: dict[str, PartOutcome] = {}
    # What others build on is graded before them, and not again.
    for part in sorted(selected, key=lambda part: part.builds_on is not None):
        progress.begin(part.name)
        has_lost = any(one.result.points != one.result.max_points for one in graded.values())
        telling = replace(task, settings=replace(settings, on_position=progress.show))
        graded[part.name] = (
            without_tests(part, Verdict.SKIPPED, _AFTER_FIRST)
            if settings.selection.fail_fast and has_lost
            else grade_part(telling, part, graded)
        )
    # What the hidden tests take is not told. They come after all the others, so that no visible
    # output can repeat what a submission has seen in them.
    wall_time_s = time.monotonic() - started_s
    if not (settings.selection.is_mark or (settings.selection.only and settings.shows_hidden)):
        without = selected
    if len(without) < len(selected):
        progress.begin("hidden checks", is_hidden=True)
    results = [
        graded[part.name].result
        if part in without
        else with_hidden_tests(task, part, graded[part.name])
        for part in selected
    ]
    manual = tuple(each for each in assignment.manual if _is_selected(each.name, settings))
    course = settings.courses.of(assignment)
    named = (str(each) for each in settings.named_courses if each.resolve() == course.root)
    return Report(
        assignment=assignment.name,
        title=assignment.title,
        submission=submission.origin,
        submission_digest=submission.digest,
        mode=settings.mode,
        parts=_shown(results, settings.selection),
        manual_parts=manual_parts(task.placement, manual, intake_user(settings), settings.journal)
        if settings.selection.is_mark
        else (),
        versions=versions(course),
        wall_time_s=wall_time_s,
        started_at=started_at.isoformat(timespec="seconds"),
        notes=(
            *settings.notes,
            *submission.notes,
            *task.placement.notes,
            *settings.data.notes(),
            *(_further_points(without) if settings.selection.is_mark else [NOT_ALL_TESTS]),
        ),
        files=task.placement.rows,
        is_recognised=settings.named is None,
        named=settings.named or "",
        course_folder=next(named, ""),
    )


def _has_hidden(part: Part, assignment: Assignment, settings: Settings) -> bool:
    return settings.grades_hidden and (assignment.folder / part.hidden_suite).is_file()


def _shown(results: Sequence[PartResult], selection: Selection) -> tuple[PartResult, ...]:
    """Return the parts to report: with --only, those that have such a test, where any has."""
    if not selection.only or not any(each.tests for each in results):
        return tuple(results)
    # A suite that cannot be run says why; one without such a test says nothing.
    failed = Verdict.JUDGE_ERROR
    return tuple(
        each for each in results if each.tests or (each.verdict is failed and each.message)
    )


def _require_known_checks(selected: Sequence[Part], task: GradingTask) -> None:
    """Raise UsageError for a check that was asked for and is in no suite; nothing is run before."""
    selection, known = task.settings.selection, set[str]()
    if not selection.only:
        return
    folder = task.placement.assignment.folder
    suites = [part.suite for part in selected]
    suites += [part.hidden_suite for part in selected if task.settings.shows_hidden]
    for suite in suites:
        with suppress(GraderError):  # which the part says when it is graded
            known |= {price.test for price in prices(folder / suite) if price.at_least is None}
    shown = [name.removeprefix("test_") for name in known]
    for name in selection.full_names:
        if known and name not in known:
            asked, parts = name.removeprefix("test_"), " or ".join(part.name for part in selected)
            every = f"; `grade list --prices {task.placement.assignment.name}` names them"
            meant = did_you_mean(asked, shown) or every
            raise UsageError(f"no check of {parts} is called {asked}{meant}")


def _require_possible_ranks(selected: Sequence[Part], task: GradingTask) -> None:
    """Raise UsageError where no check runs on the number of ranks that was asked for."""
    selection, folder = task.settings.selection, task.placement.assignment.folder
    if selection.ranks is None:
        return
    suites, only = (folder / part.suite for part in selected), selection.full_names
    possible = frozenset[int]().union(*(possible_ranks(suite, only) for suite in suites))
    if possible and selection.ranks not in possible:
        *others, most = map(str, sorted(possible))
        numbers = f"{', '.join(others)}{',' * (len(others) > 1)} or {most}" if others else most
        parts = " or ".join(task.settings.parts or [task.placement.assignment.name])
        ranks = counted(selection.ranks, "rank")
        raise UsageError(f"no check of {parts} runs on {ranks}", f"try --ranks {numbers}")


def _further_points(without: Sequence[Part]) -> tuple[str, ...]:
    """Return the sentence about hidden tests that are not here."""
    points = total(part.hidden_points for part in without)
    if not points:
        return ()
    text = f"{written(points)} further point{'' if points == 1 else 's'}"
    return (f"your course grades {text} with hidden checks",)


def _is_selected(name: str, settings: Settings) -> bool:
    """Return whether a part is asked for. Who asks for some does not want to hear of the others."""
    return settings.parts is None or name in settings.parts


def _elsewhere(parts: Sequence[str], assignment: Assignment, settings: Settings) -> tuple[str, ...]:
    """Return which other assignments have a part of that name, and how this one was chosen."""
    known = settings.courses.readable()
    part = next(each for each in parts if assignment.wrong_part([each]))
    having = [each for each in known if not each.wrong_part([part])]
    others = [full_name(each, known) for each in having]
    if not others:
        return ()
    how = " (recognised by its files)" if settings.named is None else ""
    have = "has" if len(others) == 1 else "have"
    return (f"{' and '.join(others)} {have} a part of that name; {assignment.name}{how} does not",)


def _material(settings: Settings) -> list[Path]:
    """Return folders that no submission may read: ours, and what the courses solve and test by."""
    courses = settings.courses.courses
    own = [folder for each in courses for folder in each.folders()]
    return [Path(__file__).resolve().parents[1], *own]
