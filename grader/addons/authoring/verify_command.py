"""The command that checks assignments as their authors mean them: verify."""

import argparse
import sys

from grader.addons.authoring.verification.verify import Checked, verify
from grader.commands.context import courses_of
from grader.course.courses import Courses, bundled_root
from grader.model.errors import UsageError
from grader.report.safe_text import one_line


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
