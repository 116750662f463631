"""The commands for authors of a course: list, template, new."""

import argparse
import os
from pathlib import Path

from grader.addons.authoring import catalogue, skeleton, template
from grader.commands.context import courses_of, is_sealed, named_courses
from grader.course.courses import VARIABLE
from grader.model.errors import UsageError


def list_assignments(options: argparse.Namespace) -> int:
    """Print the assignments, or the prices of one."""
    courses = courses_of(options)
    if options.prices and options.assignments:
        raise UsageError("--prices prints one assignment; name no others")
    if options.prices:
        text = catalogue.price_list(courses.assignment(options.prices))
    else:
        named = [courses.assignment(name) for name in options.assignments]
        text = catalogue.listing(courses, named, is_page=options.markdown)
    print(text, end="")
    return 0


def write_template(options: argparse.Namespace) -> int:
    """Write a template: from the reference where it is installed, else the ready one."""
    output: Path = options.output
    template.write(courses_of(options).assignment(options.assignment), output, options.part)
    courses = "".join(f"--course {folder} " for folder in named_courses(options))
    part = "".join(f" --part {name}" for name in options.part or ())
    again = f"`grade {courses}check {output}{part}`"
    if is_sealed():
        again = "starting the image again with this folder mounted at /submission"
    print(f"{output} is ready; {again} shows what is left to do")
    return 0


def write_new(options: argparse.Namespace) -> int:
    """Write a new assignment into the course that was named, or into the current folder."""
    variable = os.environ.get(VARIABLE, "").split(os.pathsep)
    folders = named_courses(options) or [Path(each) for each in variable if each] or [Path()]
    if len(folders) > 1:
        raise UsageError("there are several courses; use --course to name the one to write into")
    for path in skeleton.write(folders[0], options.name):
        print(path)
    named = f"--course {folders[0]} "
    print(
        f"the assignment is ready; `grade {named}verify {options.name}` checks that it grades "
        "correctly"
    )
    print(
        "its part is called `sum`; rename it in assignment.toml, in part(...) of test_sum.py, "
        "and in each expected.toml"
    )
    return 0
