"""The straight line: a submission goes in, a report comes out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from grader import assignment as assignments
from grader import submission as submissions
from grader.assignment import Assignment, Part
from grader.errors import GraderError, UsageError
from grader.home import REFERENCES, SUITES, TEMPLATES
from grader.manual import manual_parts
from grader.model import PartResult, Report, TestResult, Verdict
from grader.runner.launch import check_machine, launch
from grader.runner.plan import Launched, Limits, Plan
from grader.submission import Submission
from grader.suite.inputs import PUBLIC_SECRET
from grader.suite.judge_mode import Grading
from grader.suite.session import grade_suite
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


def grade(
    path: Path,
    *,
    assignment: str | None = None,
    parts: Sequence[str] | None = None,
    settings: Settings | None = None,
) -> Report:
    """Grade the submission in a folder or zip.

    Raises UsageError when it cannot be graded, GraderError when the grader fails as a whole.
    """
    settings = settings or Settings()
    if parts is not None:
        settings = replace(settings, parts=parts)
    known = [assignments.load(name, SUITES) for name in assignments.names(SUITES)]
    wanted = [file for each in known for file in each.handed_in]
    submission = submissions.read(path, wanted)
    return grade_submission(submission, choose(submission, known, assignment), settings)


def choose(submission: Submission, known: Sequence[Assignment], name: str | None) -> Assignment:
    """Return the assignment a submission is for: the one named, else the one whose files it has."""
    if name is not None:
        return assignments.load(name, SUITES)
    if not known:
        raise GraderError("no assignment is installed")
    best = max(known, key=lambda each: len(set(each.handed_in) & set(submission.files)))
    if not set(best.handed_in) & set(submission.files):
        raise UsageError(
            f"{submission.origin} holds none of the files of any assignment; expected for example "
            f"{', '.join(best.handed_in[:3])}; found {', '.join(list(submission.files)[:5])}"
        )
    return best


def grade_submission(submission: Submission, assignment: Assignment, settings: Settings) -> Report:
    """Grade every part of one submission."""
    started_s, started_at = time.monotonic(), datetime.now(UTC)
    check_machine()
    selected = [part for part in assignment.parts if _is_selected(part, assignment, settings)]
    results: dict[str, PartResult] = {}
    for part in selected:
        settings.progress(f"{part.name}: starting")
        result = _grade_part(submission, assignment, part, settings)
        if part.stand_in and _failed_below(part, assignment, submission, settings, results, result):
            result = _grade_again(submission, assignment, part, settings, result)
        results[part.name] = result
    return Report(
        assignment=assignment.name,
        title=assignment.title,
        submission=submission.origin,
        submission_digest=submission.digest,
        door=settings.door,
        parts=tuple(results.values()),
        manual_parts=manual_parts(assignment, submission),
        versions=versions(),
        wall_time_s=time.monotonic() - started_s,
        started_at=started_at.isoformat(timespec="seconds"),
    )


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
) -> PartResult:
    """Grade one part, once; with a stand-in, on our version of the part it builds on."""
    missing = [
        file
        for file in part.files
        if file not in submission.files and file not in (part.stand_in or {})
    ]
    if missing:
        return PartResult(
            name=part.name,
            title=part.title,
            verdict=Verdict.NOT_ATTEMPTED,
            points=0,
            max_points=part.points,
            message=f"{missing[0]} was not handed in",
            tests=(),
        )
    started_s = time.monotonic()
    grading = Grading(
        assignment=assignment.name,
        part=part.name,
        entry=part.entry,
        mpi_init=part.mpi_init,
        probes=(assignment.folder / "probes.py").read_text(),
        limits=Limits(case_s=part.case_time_limit_s),
        submission={**submission.source_files(assignment.support), **(stand_in or {})},
        support=_support_files(assignment),
        secret=settings.secret,
        launch=_launcher(settings),
        own_part_replaced=part.builds_on if stand_in else None,
        progress=settings.progress,
    )
    tests: tuple[TestResult, ...] = ()
    num_launches, problem = 0, ""
    try:
        tests, num_launches = grade_suite(assignment.folder / part.suite, grading)
        maximum = sum(test.max_points for test in tests)
        if maximum != part.points:
            problem = f"the suite gives {maximum:g} points, assignment.toml {part.points:g}"
    except GraderError as error:
        problem = str(error)
    return _part_result(part, tests, num_launches, time.monotonic() - started_s, problem)


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
    results: Mapping[str, PartResult],
    result: PartResult,
) -> bool:
    """Return whether points were lost here, and the part that this one builds on has failed."""
    if result.verdict in (Verdict.ACCEPTED, Verdict.NOT_ATTEMPTED, Verdict.JUDGE_ERROR):
        return False
    below = results.get(part.builds_on or "")
    if below is None:
        spec = next(each for each in assignment.parts if each.name == part.builds_on)
        below = _grade_part(submission, assignment, spec, settings)
    return below.verdict is not Verdict.ACCEPTED


def _grade_again(
    submission: Submission,
    assignment: Assignment,
    part: Part,
    settings: Settings,
    first: PartResult,
) -> PartResult:
    """Grade a part on our version of the one it builds on; keep what that gains."""
    stand_in = {
        name: (assignment.folder / path).read_bytes()
        for name, path in (part.stand_in or {}).items()
    }
    again = _grade_part(submission, assignment, part, settings, stand_in)
    used = first.num_launches + again.num_launches
    time_s = first.wall_time_s + again.wall_time_s
    if again.points <= first.points:
        return replace(first, num_launches=used, wall_time_s=time_s)
    note = (
        f"graded again with our {part.builds_on}, because yours did not hold in its own part: "
        f"{first.message}"
    )
    again = replace(again, notes=(note,), num_launches=used, wall_time_s=time_s)
    if again.verdict is Verdict.SKIPPED:
        # All that is left unpaid is what only the student's own version can show.
        return replace(again, verdict=first.verdict, message=first.message)
    return again


def _support_files(assignment: Assignment) -> dict[str, bytes]:
    for folder in (TEMPLATES / assignment.name, REFERENCES / assignment.name):
        if folder.is_dir():
            return {file: (folder / file).read_bytes() for file in assignment.support}
    raise GraderError(f"the support files of {assignment.name} are not installed")


def _launcher(settings: Settings) -> Callable[[Plan], Launched]:
    if not settings.sealed:
        return launch
    uids = iter(range(20_000, 60_000))
    return lambda plan: launch(plan, uid=next(uids))
