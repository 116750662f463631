"""`grade verify`: all checks of assignments of a course, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from grader.addons.authoring.verification.graded_checks import (
    GRADED_CHECKS,
    check_mutants,
    check_reference,
)
from grader.addons.authoring.verification.grading import grader_of
from grader.addons.authoring.verification.problem import Problem
from grader.addons.authoring.verification.static_checks import STATIC_CHECKS
from grader.course.course import Course
from grader.grading.observing import observer
from grader.model.errors import GraderError, GradingLost, LaunchError
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording.observation import Observer


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
