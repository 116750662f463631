"""The command that makes the images of a course: build."""

import argparse
from collections.abc import Iterator

from grader.commands.context import courses_of, named_courses, say
from grader.container.course_image import build_context, edition
from grader.container.docker_engine import DockerEngine
from grader.course import Course
from grader.errors import GraderError, UsageError
from grader.verification.static_checks import check_student_edition


def build_images(options: argparse.Namespace) -> int:
    """Build the image of a course, and the one that its students may have."""
    if len(named_courses(options)) > 1:
        raise UsageError("name one --course: the one to make images of")
    course = courses_of(options).courses[0]
    refusals = list(_refusals(course))
    if refusals:
        raise GraderError(*refusals)
    tag = options.tag or course.name
    engine = DockerEngine.connect()
    for name, kind in ((tag, "course"), (f"{tag}-student", "student")):
        files = edition(course, is_for_students=kind == "student")
        labels = {"grader.course": course.name, "grader.edition": kind}
        say(f"building {name}: {len(files)} files of {course.root} on {options.base}")
        engine.build(build_context(options.base, files, labels), name)
        print(name)
    return 0


def _refusals(course: Course) -> Iterator[str]:
    """Yield why students cannot be given their edition of a course."""
    assignments = course.assignments()
    if not assignments:
        yield f"there is nothing to build: no assignment lies in {course.suites}"
    for assignment in assignments:
        for problem in check_student_edition(course, assignment):
            yield f"{problem.subject}: {problem.text}"
        for file in assignment.support_paths().values():
            if file.is_relative_to(course.references):
                yield (
                    f"{file}: ranks need it, and students do not get references; write the "
                    f"template of {assignment.name} anew"
                )
