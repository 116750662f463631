"""Checks that assignments grade as their authors intend: `grade verify`."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from grader.addons.authoring.verification.labels import disagreements, labelled, read_label
from grader.addons.authoring.verification.mutation import (
    Grader,
    NearMiss,
    changeable_names,
    graded,
    grader_of,
    mutations,
    reasons,
    unexplained,
)
from grader.addons.authoring.verification.static_checks import STATIC_CHECKS, Problem
from grader.commands.context import courses_of, live_view
from grader.course.course import Course
from grader.course.courses import Courses, bundled_root
from grader.course.secret import NUM_BYTES
from grader.grading.observing import observer
from grader.judge.explanation.launch_result import explaining
from grader.model.errors import GraderError, GradingLost, LaunchError, UsageError
from grader.model.plural import counted
from grader.model.points import written
from grader.model.report import PartResult, Verdict
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording.codec import decode
from grader.recording.observation import Observer
from grader.recording.recording import RecordedLaunch
from grader.recording.replay import filling
from grader.report.safe_text import one_line

EQUIVALENT = "equivalent.toml"
_OTHER_SECRETS = tuple(bytes([number]) * NUM_BYTES for number in (1, 2))
NEAR_MISS = 0.01
"""Results that are one per cent too large must cost points."""


def check_reference(grader: Grader) -> Iterator[Problem]:
    """Check that the solution gets all points of every part, with the hidden tests.

    With other inputs as well, as each sealed grading draws them: a suite may be right by chance.
    """
    hidden = _has_hidden(grader)
    for secret in (grader.settings.secret, *_OTHER_SECRETS):
        report = grader.grade(
            grader.assignment.reference,
            grades_hidden=hidden,
            shows_hidden=hidden,
            progress=grader.progress,
            secret=secret,
        )
        inputs = "" if secret == grader.settings.secret else ", with other inputs"
        for part in report.parts:
            if part.points < part.max_points or part.verdict is not Verdict.ACCEPTED:
                yield Problem(f"reference, {part.name}{inputs}", _account(part))


def check_template_gets_nothing(grader: Grader) -> Iterator[Problem]:
    """Check that the template counts as not attempted in every part that has points."""
    for part in grader.grade(grader.assignment.template).parts:
        if part.max_points and (part.points or part.verdict is not Verdict.NOT_ATTEMPTED):
            yield Problem(
                f"template, {part.name}",
                f"expected NOT_ATTEMPTED and no points; {_account(part)}. Functions that "
                "students write must raise NotImplementedError",
            )


def check_labelled(grader: Grader) -> Iterator[Problem]:
    """Check that every labelled submission gets its verdict, for its reason, at its price."""
    folders = labelled(grader.course.submissions, grader.assignment.name)
    for number, folder in enumerate(folders, 1):
        subject = folder.relative_to(grader.course.submissions).as_posix()
        grader.progress(f"labels: {number} of {len(folders)}, {subject}")
        try:
            label = read_label(folder)
            (result,) = grader.grade(folder, label.part).parts
        except (LaunchError, GradingLost):
            raise
        except GraderError as error:
            yield from (Problem(subject, str(each)) for each in error.args)
            continue
        yield from (Problem(subject, text) for text in disagreements(label, result))


def check_near_misses(grader: Grader) -> Iterator[Problem]:
    """Check that no test accepts results that are slightly too large.

    One result after the other is enlarged. A test that accepts even twice its size does not look at
    it. The course's equivalent.toml says which tests may accept them, and why.
    """
    explained = reasons(grader.course.mutation / EQUIVALENT)
    for part in grader.assignment.parts:
        grader.progress(f"near misses: {part.name}")
        launches: dict[str, RecordedLaunch] = {}
        observe = filling(launches.get, grader.observe, launches.__setitem__)
        unchanged = _found_wrong(grader, part.name, observe)
        if unchanged:
            names = ", ".join(sorted(unchanged))
            yield Problem(part.name, f"not checked, because the reference itself fails {names}")
            continue
        for name in changeable_names(decode(each.observed) for each in launches.values()):
            near, far = (
                _found_wrong(grader, part.name, NearMiss(observe, name, relative).observe)
                for relative in (NEAR_MISS, 1.0)
            )
            # A test that does not run says nothing about the numbers.
            looked = {test for test, verdict in far.items() if verdict is not Verdict.SKIPPED}
            for test in sorted(looked - near.keys()):
                of_test = f"near miss: {grader.assignment.name}: {test}"
                key = f"{of_test}: {name}"
                if not explained.get(key) and not explained.get(of_test):
                    yield Problem(
                        f"{part.name}, {test}",
                        f"passes when {name} is {NEAR_MISS:.0%} too large, but fails when it "
                        f"is doubled. Compare {name} with a smaller tolerance, or say in "
                        f"{grader.course.mutation / EQUIVALENT} why this is correct: '{key}' = "
                        '"..."',
                    )


def _found_wrong(grader: Grader, part: str, observe: Observer) -> dict[str, Verdict]:
    """Return the tests that the reference fails, or that do not run because it fails another."""
    report = grader.grade(grader.assignment.reference, part, launch=explaining(observe))
    tests = report.parts[0].tests
    return {test.name: test.verdict for test in tests if test.points < test.max_points}


def _has_hidden(grader: Grader) -> bool:
    folder = grader.assignment.folder
    return any((folder / part.hidden_suite).is_file() for part in grader.assignment.parts)


def _account(part: PartResult) -> str:
    """Return the points of a part, and the first reasons why it lost some."""
    failed = [test for test in part.tests if test.verdict is not Verdict.ACCEPTED]
    why = "; ".join(f"{test.verdict.value} {test.name}: {test.message}" for test in failed[:2])
    paid = f"{written(part.points)} of {written(part.max_points)}"
    return f"found {part.verdict.value}, {paid}: {why or part.message}"


def check_mutants(grader: Grader) -> Iterator[Problem]:
    """Check that a test finds every small mistake in the reference, unless it is explained.

    The course's equivalent.toml says why a mutant that no test finds is still correct.
    """
    file = grader.course.mutation / EQUIVALENT
    explained = reasons(file)
    found = list(mutations(grader.assignment))
    for number, (mutant, source) in enumerate(found, 1):
        grader.progress(f"mutants: {number} of {len(found)}, {mutant.file}")
        row = graded(grader, mutant, source)
        if row.verdict == Verdict.JUDGE_ERROR.value:
            text = f"the suite itself fails when {row.before!r} is changed to {row.after!r}: "
            text += str(row.killed_by)
            yield Problem(f"{row.file}:{row.line}", f"{text}; a student would get no mark")
        if unexplained([row], explained):
            yield Problem(
                f"{row.file}:{row.line}",
                f"no test notices when {row.before!r} is changed to {row.after!r}; add one that "
                f"does, or say in {file} why both are correct: '{row.key}' = \"...\"",
            )


GRADED_CHECKS: dict[str, Callable[[Grader], Iterator[Problem]]] = {
    "reference gets all points": check_reference,
    "template gets none": check_template_gets_nothing,
    "labelled submissions": check_labelled,
    "near misses": check_near_misses,
}


@dataclass(frozen=True)
class Checked:
    """One check of one assignment."""

    assignment: str
    check: str
    problems: Sequence[Problem]


def verify(
    course: Course,
    name: str,
    *,
    is_quick: bool,
    with_mutants: bool,
    progress: Callable[[str], None],
    observe: Observer | None = None,
) -> Iterator[Checked]:
    """Yield each check of an assignment as soon as it is done.

    is_quick: start no ranks. with_mutants: grade every small mistake in the reference.
    progress: is told what is being graded. observe: runs plans on ranks; None starts them here. If
    assignment.toml cannot be read, that is the only check. Raises UsageError for an unknown
    assignment.
    """
    try:
        assignment = course.load(name)
    except GraderError as error:
        yield Checked(name, "assignment.toml", [Problem(name, str(each)) for each in error.args])
        return
    yield Checked(name, "assignment.toml", [])
    for check, find in STATIC_CHECKS.items():
        yield Checked(name, check, list(find(course, assignment)))
    if is_quick:
        return
    with ExitStack() as stack:
        if observe is None:
            observe = observer(stack.enter_context(ForkserverClient(assignment.needs)))
        grader = grader_of(course, assignment, observe, progress)
        checks = {**GRADED_CHECKS, **({"mutants": check_mutants} if with_mutants else {})}
        is_reference_right = True
        for check, find_by_grading in checks.items():
            if not is_reference_right:
                break  # the other checks would report the same mistake
            progress(f"{check}: starting")
            try:
                problems = list(find_by_grading(grader))
            except (LaunchError, GradingLost):  # not the course's fault
                raise
            except GraderError as error:
                problems = [Problem(name, str(each)) for each in error.args]
            is_reference_right &= not (problems and find_by_grading is check_reference)
            yield Checked(name, check, problems)


def verify_assignments(options: argparse.Namespace) -> int:
    """Check assignments; return 0 if there is no problem, else 1."""
    courses = courses_of(options)
    names = options.assignments or _all_named(options, courses)
    num_problems = 0
    with live_view(options) as live:
        for name in names:
            course, own_name = courses.having(name), name.rpartition("/")[2]
            for checked in verify(
                course,
                own_name,
                is_quick=options.quick,
                with_mutants=options.mutants,
                progress=live.progress,
            ):
                live.progress("")
                num_problems += len(checked.problems)
                is_right = "no" if checked.problems else "ok"
                print(f"{is_right}  {checked.assignment}: {checked.check}")
                for problem in checked.problems:
                    print(f"    {one_line(problem.subject)}: {one_line(problem.text)}")
                sys.stdout.flush()
    print(f"{counted(num_problems, 'problem')} in {', '.join(names)}")
    return 1 if num_problems else 0


def _all_named(options: argparse.Namespace, courses: Courses) -> list[str]:
    """Return the assignments of the named courses; if none was named, of the bundled one."""
    own = [course for course in courses.courses if course.root != bundled_root()]
    chosen = own or list(courses.courses)
    names = [f"{course.name}/{name}" for course in chosen for name in course.names()]
    if not names:
        folders = " or ".join(str(course.suites) for course in chosen)
        raise UsageError(f"there are no assignments to verify in {folders}")
    return names
