"""The straight line: a submission goes in, a report comes out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from grader import assignment as assignments
from grader.assignment import Assignment, Part
from grader.data import Data
from grader.errors import GraderError, UsageError
from grader.home import SUITES
from grader.intake import process as intake
from grader.manual import manual_parts
from grader.model import PartResult, Report, TestResult, Verdict
from grader.runner.fork_server import ForkServer
from grader.runner.journal import Journal
from grader.runner.launch import launch
from grader.runner.machine import check_machine
from grader.runner.place import Here, Place
from grader.runner.plan import Launched, Limits, Plan
from grader.runner.protections import Protection, note, refusal
from grader.runner.selftest.examine import examine
from grader.runner.users import run_uids
from grader.submission import Submission
from grader.suite.inputs import PUBLIC_SECRET
from grader.suite.judge_mode import Grading
from grader.suite.session import Graded, grade_suite
from grader.versions import versions


@dataclass(frozen=True)
class Settings:
    """How to grade, whatever is graded."""

    door: str = "check"
    sealed: bool = False
    """Run the ranks as users of their own; needs root."""
    secret: bytes = PUBLIC_SECRET
    parts: Sequence[str] | None = None
    """Names of the only parts to grade; None for all."""
    progress: Callable[[str], None] = field(default=lambda text: None)
    data: Data = field(default_factory=Data)
    """The images that inputs may be made of."""
    is_recognised: bool = False
    """The assignment was found out from the files, for want of its name."""
    launch: Callable[[Plan], Launched] | None = None
    """How plans are put to ranks; None for a fork server of this grading's own."""
    place: Place = field(default_factory=Here)
    """Where the ranks run."""
    shows_hidden: bool = False
    """Tell all about hidden tests; for the course, never for a report that students get."""
    flags_are_ours: bool = False
    """`grade run` started the container we are in: every protection has to hold."""
    notes: tuple[str, ...] = ()
    """What the report is to say of the grading as a whole, before its own notes."""
    journal: Journal = field(default_factory=Journal)
    """Is told what becomes of each test, and knows what became of them before."""


@dataclass(frozen=True)
class _Graded:
    """A part as far as it has been graded, and how to go on."""

    result: PartResult
    grading: Grading | None = None
    """None when nothing was handed in."""
    has_ended: bool = False
    """No more runs are worth starting."""


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
    wanted = assignments.wanted(SUITES, assignment)
    submission = intake.read(path, wanted, intake_user(settings))
    return grade_as(submission, assignment, settings)


def intake_user(settings: Settings) -> int | None:
    """Return who reads what was handed in: nobody else is this user; None for who we are."""
    return next(run_uids()) if settings.sealed else None


def grade_as(submission: Submission, name: str | None, settings: Settings) -> Report:
    """Grade a submission of the assignment of that name, or of the one whose files it has.

    Raises UsageError when its files are those of no assignment, or of several.
    """
    if name is not None:
        return grade_submission(submission, assignments.load(name, SUITES), settings)
    known = [assignments.load(each, SUITES) for each in assignments.names(SUITES)]
    settings = replace(settings, is_recognised=True)
    return grade_submission(submission, recognise(submission, known), settings)


def recognise(submission: Submission, known: Sequence[Assignment]) -> Assignment:
    """Return the assignment that most of the files are for; support files decide between equals.

    Raises UsageError when there is none, or when two are equally likely.
    """
    if not known:
        raise GraderError("no assignment is installed")
    scores = {each.name: _score(submission, each) for each in known}
    best = max(scores.values())
    found = [each for each in known if scores[each.name] == best]
    if not best[0]:
        raise UsageError(
            f"{submission.origin} holds none of the files of any assignment; expected for example "
            f"{', '.join(found[0].handed_in[:3])}; found {', '.join(list(submission.files)[:5])}"
            + "".join(f"; {note}" for note in submission.notes)
        )
    if len(found) > 1:
        raise UsageError(
            f"{submission.origin} may be for {' or '.join(each.name for each in found)}: it holds "
            f"as many files of each; say which with --assignment {found[0].name}"
        )
    return found[0]


def _score(submission: Submission, assignment: Assignment) -> tuple[int, int]:
    """Return how many files are there that the assignment asks for, and how many that it gives."""
    asked = assignment.accepted_names.values()
    return (
        sum(any(name in submission.files for name in names) for names in asked),
        sum(name in submission.files for name in assignment.support),
    )


def grade_submission(submission: Submission, assignment: Assignment, settings: Settings) -> Report:
    """Grade every part of one submission."""
    check_machine()
    if settings.launch is not None:
        return _grade_all(submission, assignment, settings)
    with ForkServer(assignment.needs, settings.place) as server:
        settings = replace(settings, launch=_launcher(settings, server))
        return _grade_all(submission, assignment, _protected(settings))


def selftest(settings: Settings) -> tuple[Protection, ...]:
    """Return the protections of a sealed grading here."""
    check_machine()
    with ForkServer(place=settings.place) as server:
        return examine(_launcher(settings, server))


def _protected(settings: Settings) -> Settings:
    """Return the settings with a note on missing protections.

    Raises GraderError where a sealed grading must not start without one of them.
    """
    if not settings.sealed or settings.launch is None:
        return settings
    protections = examine(settings.launch)
    reason = refusal(protections, flags_are_ours=settings.flags_are_ours)
    if reason:
        raise GraderError(reason)
    missing = note(protections)
    return replace(settings, notes=(*settings.notes, *([missing] if missing else [])))


def _grade_all(submission: Submission, assignment: Assignment, settings: Settings) -> Report:
    started_s, started_at = time.monotonic(), datetime.now(UTC)
    selected = [part for part in assignment.parts if _is_selected(part, assignment, settings)]
    without = [part for part in selected if not (assignment.folder / part.hidden_suite).is_file()]
    if settings.shows_hidden and len(without) == len(selected):
        raise UsageError(
            f"there are no hidden tests of {assignment.name} here to show: only the course has them"
        )
    graded: dict[str, _Graded] = {}
    for part in selected:
        settings.progress(f"{part.name}: starting")
        found = _grade_part(submission, assignment, part, settings)
        if part.stand_in and _failed_below(
            part, assignment, submission, settings, graded, found.result
        ):
            found = _grade_again(submission, assignment, part, settings, found)
        graded[part.name] = found
    # What the hidden tests take is not told. They come after all the others, so that no visible
    # output can repeat what a submission has seen in them.
    wall_time_s = time.monotonic() - started_s
    if len(without) < len(selected):
        settings.progress("hidden tests: starting")
    results = [
        graded[part.name].result
        if part in without
        else _with_hidden_tests(part, assignment, graded[part.name], settings)
        for part in selected
    ]
    return Report(
        assignment=assignment.name,
        title=assignment.title,
        submission=submission.origin,
        submission_digest=submission.digest,
        door=settings.door,
        parts=tuple(results),
        manual_parts=manual_parts(assignment, submission, intake_user(settings)),
        versions=versions(),
        wall_time_s=wall_time_s,
        started_at=started_at.isoformat(timespec="seconds"),
        notes=(
            *settings.notes,
            *submission.notes,
            *settings.data.notes(),
            *_further_points(without),
        ),
        is_recognised=settings.is_recognised,
    )


def _further_points(without: Sequence[Part]) -> tuple[str, ...]:
    """Return the sentence about hidden tests that are not here."""
    points = sum(part.hidden_points for part in without)
    if not points:
        return ()
    text = f"{points:g} further point{' is' if points == 1 else 's are'}"
    return (f"{text} graded by hidden tests, in the course's grading",)


def _is_selected(part: Part, assignment: Assignment, settings: Settings) -> bool:
    unknown = set(settings.parts or ()) - {part.name for part in assignment.parts}
    if unknown:
        raise UsageError(
            f"{assignment.name} has no part {sorted(unknown)[0]!r}; it has "
            f"{', '.join(part.name for part in assignment.parts)}"
        )
    return settings.parts is None or part.name in settings.parts


def _grade_part(
    submission: Submission,
    assignment: Assignment,
    part: Part,
    settings: Settings,
    stand_in: Mapping[str, bytes] | None = None,
) -> _Graded:
    """Grade one part by its visible tests, once.

    stand_in: our version of the part it builds on.
    """
    files, notes = _under_asked_names(part, submission.source_files(assignment.support))
    missing = [
        " or ".join([file, *part.accepted_names.get(file, ())])
        for file in part.files
        if file not in files and file not in (part.stand_in or {})
    ]
    if missing:
        return _Graded(
            PartResult(
                name=part.name,
                title=part.title,
                verdict=Verdict.NOT_ATTEMPTED,
                points=0,
                max_points=part.points,
                message=f"{missing[0]} was not handed in",
                tests=(),
            )
        )
    started_s = time.monotonic()
    assert settings.launch is not None
    grading = Grading(
        assignment=assignment.name,
        part=part.name,
        entry=part.entry,
        world=part.world,
        probes=(assignment.folder / "probes.py").read_text(),
        limits=Limits(case_s=part.case_time_limit_s),
        submission={**files, **(stand_in or {})},
        support={
            file: path.read_bytes() for file, path in assignments.support_paths(assignment).items()
        },
        secret=settings.secret,
        launch=settings.launch,
        own_part_replaced=part.builds_on if stand_in else None,
        progress=settings.progress,
        data=settings.data,
        journal=settings.journal,
    )
    found, problem = _found(assignment.folder / part.suite, grading, part.points)
    result = _part_result(
        part, found.tests, found.num_launches, time.monotonic() - started_s, problem
    )
    notes += tuple(
        f"{refusal}; this was refused and the program went on: a person should look at it"
        for refusal in found.refusals[:1]
    )
    return _Graded(replace(result, notes=notes), grading, found.has_ended or bool(problem))


def _found(suite: Path, grading: Grading, points: float) -> tuple[Graded, str]:
    """Run a suite; return what it found, and what is wrong with the suite itself."""
    try:
        found = grade_suite(suite, grading)
    except GraderError as error:
        return Graded((), 0, has_ended=True), str(error)
    maximum = sum(test.max_points for test in found.tests)
    if maximum != points:
        return found, f"the suite gives {maximum:g} points, assignment.toml {points:g}"
    return found, ""


def _with_hidden_tests(
    part: Part, assignment: Assignment, graded: _Graded, settings: Settings
) -> PartResult:
    """Grade the hidden tests of a part on what its visible ones were graded on; add them.

    Of time, launches and the reason of a failure nothing is added.
    """
    visible, points = graded.result, part.points + part.hidden_points
    if graded.grading is None:
        return replace(visible, max_points=points)
    grading = replace(
        graded.grading,
        progress=lambda text: None,
        is_hidden=True,
        shows_hidden=settings.shows_hidden,
        has_ended=graded.has_ended,
    )
    found, problem = _found(assignment.folder / part.hidden_suite, grading, part.hidden_points)
    if problem and not settings.shows_hidden:
        problem = "its hidden tests could not be graded; the course sees why with --show-hidden"
    tests = found.tests
    hidden = _part_result(part, tests, 0, 0, problem)
    is_worse = hidden.verdict.severity > visible.verdict.severity
    return replace(
        visible,
        verdict=hidden.verdict if is_worse else visible.verdict,
        message=hidden.message if is_worse else visible.message,
        points=visible.points + hidden.points,
        max_points=points,
        tests=(*visible.tests, *tests),
    )


def _under_asked_names(
    part: Part, files: Mapping[str, bytes]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the files with those of another accepted name also under the asked one, and notes."""
    named, notes = dict(files), []
    for asked, others in part.accepted_names.items():
        found = next((name for name in others if name in files), None)
        if asked not in files and found is not None:
            named[asked] = files[found]
            notes.append(f"graded {found} as {asked}")
    return named, tuple(notes)


def _part_result(
    part: Part,
    tests: tuple[TestResult, ...],
    num_launches: int,
    wall_time_s: float,
    problem: str,
) -> PartResult:
    """Sum up the tests of a part: the most severe verdict speaks for it."""
    worst = max(tests, key=lambda test: test.verdict.severity, default=None)
    verdict = worst.verdict if worst is not None else Verdict.JUDGE_ERROR
    return PartResult(
        name=part.name,
        title=part.title,
        verdict=Verdict.JUDGE_ERROR if problem else verdict,
        points=sum(test.points for test in tests),
        max_points=part.points,
        message=problem or (worst.message if worst is not None else ""),
        tests=tests,
        wall_time_s=wall_time_s,
        num_launches=num_launches,
    )


def _failed_below(
    part: Part,
    assignment: Assignment,
    submission: Submission,
    settings: Settings,
    graded: Mapping[str, _Graded],
    result: PartResult,
) -> bool:
    """Return whether points were lost here, and the part that this one builds on has failed."""
    if result.verdict in (Verdict.ACCEPTED, Verdict.NOT_ATTEMPTED, Verdict.JUDGE_ERROR):
        return False
    below = graded.get(part.builds_on or "")
    if below is None:
        spec = next(each for each in assignment.parts if each.name == part.builds_on)
        below = _grade_part(submission, assignment, spec, settings)
    return below.result.verdict is not Verdict.ACCEPTED


def _grade_again(
    submission: Submission,
    assignment: Assignment,
    part: Part,
    settings: Settings,
    graded: _Graded,
) -> _Graded:
    """Grade a part on our version of the one it builds on; keep what that gains."""
    first = graded.result
    stand_in = {
        name: (assignment.folder / path).read_bytes()
        for name, path in (part.stand_in or {}).items()
    }
    regraded = _grade_part(submission, assignment, part, settings, stand_in)
    again = regraded.result
    used = first.num_launches + again.num_launches
    time_s = first.wall_time_s + again.wall_time_s
    if again.points <= first.points:
        return replace(graded, result=replace(first, num_launches=used, wall_time_s=time_s))
    note = (
        f"graded again with our {part.builds_on}, because yours did not hold in its own part: "
        f"{first.message}"
    )
    again = replace(again, notes=(*again.notes, note), num_launches=used, wall_time_s=time_s)
    if again.verdict is Verdict.SKIPPED:
        # All that is left unpaid is what only the student's own version can show.
        again = replace(again, verdict=first.verdict, message=first.message)
    return replace(regraded, result=again)


def _launcher(settings: Settings, server: ForkServer) -> Callable[[Plan], Launched]:
    uids = run_uids()
    return lambda plan: launch(plan, server, uid=next(uids) if settings.sealed else None)
