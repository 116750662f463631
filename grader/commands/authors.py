"""The commands for authors of a course: list, template, new, verify."""

import argparse
import os
import sys
from pathlib import Path

from grader.authoring import catalogue, skeleton, template
from grader.commands.context import courses_of, is_sealed, named_courses
from grader.courses import VARIABLE, Courses, bundled_root
from grader.errors import UsageError
from grader.report.safe_text import one_line
from grader.verification.verify import Checked, verify


def list_assignments(options: argparse.Namespace) -> int:
    """Print the assignments, or the prices of one."""
    print(catalogue.listing(courses_of(options), options.prices, is_page=options.markdown), end="")
    return 0


def write_template(options: argparse.Namespace) -> int:
    """Write a template: from the reference where it is installed, else the ready one."""
    output: Path = options.output
    template.write(courses_of(options).assignment(options.assignment), output)
    again = f"`grade {_courses_named(options)}check {output}`"
    if is_sealed(os.environ):
        again = "mount it at /submission and start the image again: that"
    print(f"{output}: ready; {again} shows what is left to do")
    return 0


def write_new(options: argparse.Namespace) -> int:
    """Write a new assignment into the course that was named, or into the current folder."""
    variable = os.environ.get(VARIABLE, "").split(os.pathsep)
    folders = named_courses(options) or [Path(each) for each in variable if each] or [Path()]
    if len(folders) > 1:
        raise UsageError("name one --course: the one that the assignment is to be written into")
    for path in skeleton.write(folders[0], options.name):
        print(path)
    named = f"--course {folders[0]} "
    print(f"ready; `grade {named}verify {options.name}` shows that it grades as it says")
    print(
        "its part is called `sum`; rename it in assignment.toml, in part(...) of test_sum.py and "
        "in each expected.toml"
    )
    return 0


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
        raise UsageError(f"there is nothing to verify: no assignment lies in {folders}")
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


def _courses_named(options: argparse.Namespace) -> str:
    """Return the options that name courses, to be repeated by the user."""
    return "".join(f"--course {folder} " for folder in named_courses(options))
