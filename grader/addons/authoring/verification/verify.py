"""Shows that assignments grade as their authors mean them to: `grade verify`."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from grader.addons.authoring.verification.graded_checks import (
    GRADED_CHECKS,
    check_mutants,
    check_reference,
)
from grader.addons.authoring.verification.mutation import grader_of
from grader.addons.authoring.verification.static_checks import STATIC_CHECKS, Problem
from grader.commands.context import courses_of
from grader.course.course import Course
from grader.course.courses import Courses, bundled_root
from grader.grading.observing import observer
from grader.model.errors import GraderError, GradingLost, LaunchError, UsageError
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording.observation import Observer
from grader.report.safe_text import one_line


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
    is_quick: bool = False,
    with_mutants: bool = False,
    progress: Callable[[str], None] = lambda text: None,
    observe: Observer | None = None,
) -> Iterator[Checked]:
    """Yield each check of an assignment as soon as it is done.

    is_quick: start no ranks. with_mutants: grade every small mistake in the reference.
    progress: is told what is being graded. observe: puts plans to ranks; None starts them here. An
    assignment.toml that cannot be read is the only check then. Raises UsageError for an assignment
    that is not there.
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
                break  # all that follows would tell of the same mistake
            progress(f"{check}: starting")
            try:
                problems = list(find_by_grading(grader))
            except (LaunchError, GradingLost):  # nothing the course has done
                raise
            except GraderError as error:
                problems = [Problem(name, str(each)) for each in error.args]
            is_reference_right &= not (problems and find_by_grading is check_reference)
            yield Checked(name, check, problems)


def verify_assignments(options: argparse.Namespace) -> int:
    """Check assignments as their authors mean them; return 0 if all holds, 1 if not."""
    courses = courses_of(options)
    names = options.assignments or _all_named(options, courses)
    num_problems = 0
    for name in names:
        course, own_name = courses.having(name), name.rpartition("/")[2]
        for checked in verify(
            course,
            own_name,
            is_quick=options.quick,
            with_mutants=options.mutants,
            progress=_progress,
        ):
            num_problems += len(checked.problems)
            print("\n".join(_lines(checked)), flush=True)
    print(f"{num_problems} problem{'' if num_problems == 1 else 's'} in {', '.join(names)}")
    return 1 if num_problems else 0


def _all_named(options: argparse.Namespace, courses: Courses) -> list[str]:
    """Return the assignments of the courses that were named; where none was, of the bundled one."""
    own = [course for course in courses.courses if course.root != bundled_root()]
    chosen = own or list(courses.courses)
    names = [f"{course.name}/{name}" for course in chosen for name in course.names()]
    if not names:
        folders = " or ".join(str(course.suites) for course in chosen)
        raise UsageError(f"there is nothing to verify: {folders} holds no assignment")
    return names


def _lines(checked: Checked) -> list[str]:
    mark = "no" if checked.problems else "ok"
    lines = [f"{mark}  {checked.assignment}: {checked.check}"]
    return lines + [
        f"    {one_line(problem.subject)}: {one_line(problem.text)}" for problem in checked.problems
    ]


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{one_line(text)}", end="\r", file=sys.stderr, flush=True)
