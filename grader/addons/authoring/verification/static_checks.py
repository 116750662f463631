"""What can be checked of an assignment without starting ranks."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.addons.authoring.template import drift
from grader.addons.authoring.verification.deprecated import check_deprecated_names
from grader.addons.authoring.verification.handout import check_handout
from grader.addons.authoring.verification.labels import FILE, labelled, read_label
from grader.addons.authoring.verification.problem import Problem
from grader.course.assignment import Assignment, Part
from grader.course.course import Course, is_hidden
from grader.course.edition import given
from grader.grading_plugin.points_table import Price, prices
from grader.model.errors import GraderError
from grader.model.points import total, written
from grader.model.spelling import did_you_mean

_FEWEST_CHARS = 20
"""Shorter lines are alike by chance."""
_TELLING = re.compile(r'def test_|"""\w|[A-Z_0-9]+ = ')


def check_suites(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that the suites can be read, grade their parts, and pay what the parts are worth."""
    for part in assignment.parts:
        yield from _suite_problems(assignment, part, part.suite, part.points)
        hidden = assignment.folder / part.hidden_suite
        if hidden.is_file():
            yield from _suite_problems(assignment, part, part.hidden_suite, part.hidden_points)
        elif part.hidden_points:
            text = f"hidden_points is {written(part.hidden_points)}, but there is no such file"
            yield Problem(part.hidden_suite, f"{text}; write it, or leave hidden_points out")


def _suite_problems(
    assignment: Assignment, part: Part, suite: str, points: float
) -> Iterator[Problem]:
    if not (assignment.folder / suite).is_file():
        yield Problem(suite, f"the part {part.name} names it, but there is no such file; write it")
        return
    try:
        found = prices(assignment.folder / suite)
    except GraderError as error:
        yield Problem(suite, str(error))
        return
    names = [part.name for part in assignment.parts]
    for wrong in sorted({price.part for price in found} - {part.name}):
        meant = did_you_mean(wrong, names)
        yield Problem(suite, f"it says part({wrong!r}), {meant}expected part({part.name!r})")
    known = [price.test for price in found]
    for wrong in sorted({*part.course_only} - {*known}) if suite == part.suite else ():
        meant = did_you_mean(wrong, known)
        yield Problem(
            suite, (f"course_only names {wrong}, {meant}which is not a test of {part.name}")
        )
    paid = total(price.points for price in found)
    if paid != points:
        yield Problem(
            suite,
            f"its tests pay {written(paid)} points, but assignment.toml says "
            f"{written(points)}; {_largest(found)}",
        )
    for stage in found:
        if stage.at_least is not None and not 0 < stage.at_least < points:
            text = f"{stage.test} is a stage of {written(stage.at_least)} points; expected more"
            yield Problem(suite, f"{text} than 0 and fewer than the {written(points)} of the part")


def _largest(found: tuple[Price, ...]) -> str:
    shown = sorted(found, key=lambda price: -price.points)[:3]
    return "the most: " + ", ".join(f"{written(price.points)} {price.test}" for price in shown)


def check_files(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that reference, handout and support files are there."""
    if not assignment.reference.is_dir():
        yield Problem(str(assignment.reference), "there is no reference; write a solution there")
    else:
        for file in assignment.handed_in:
            if not (assignment.reference / file).is_file():
                text = "assignment.toml names it, but the reference does not hold it"
                yield Problem(file, f"{text}; add it to {assignment.reference}")
    if not (assignment.template / "HANDOUT.md").is_file():
        text = "students need a handout; write it beside the reference"
        yield Problem(str(assignment.template / "HANDOUT.md"), f"{text}, and make the template")
    try:
        assignment.support_paths()
    except GraderError as error:
        yield Problem("support", f"{error}; put it into {assignment.reference}")


def check_template(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that the template is what the reference makes today."""
    if not assignment.reference.is_dir():
        return
    try:
        sentences = drift(assignment.reference, assignment.template, assignment.shared_support())
    except GraderError as error:
        yield Problem(str(assignment.reference), str(error))
        return
    for sentence in sentences:
        again = f"grade --course {course.root} template {assignment.name} FOLDER"
        yield Problem("template", f"{sentence}; write it again: `{again}`")


def check_student_edition(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that what students get holds no hidden test, neither as a file nor what it asks."""
    folder = assignment.folder
    hidden = [file for file in _files(folder) if is_hidden(file.relative_to(folder))]
    try:
        public = [*given(assignment).values()]
    except GraderError as error:
        yield Problem("assignment.toml", f"{error}; take it off the list")
        return
    secret_lines = {line: file for file in hidden for line in _telling_lines(file)}
    names = {file.name for file in hidden} | {part.hidden_suite for part in assignment.parts}
    for file in _files(assignment.template):
        if file.name in names or file.name.startswith("test_hidden"):
            yield Problem(str(file), "students get this hidden test; move it away")
        public.append(file)
    for file in public:
        for line in sorted(_telling_lines(file) & secret_lines.keys())[:1]:
            source = secret_lines[line].name
            yield Problem(str(file), f"students get it, but it holds a line of {source}: {line!r}")


def _files(folder: Path) -> list[Path]:
    return sorted(
        file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )


def _telling_lines(file: Path) -> set[str]:
    """Return the lines that say what is asked: names and docstrings of tests, and their cases.

    Loops and calls are alike in all suites.
    """
    lines = {line.strip() for line in file.read_text(errors="replace").splitlines()}
    return {line for line in lines if len(line) >= _FEWEST_CHARS and _TELLING.match(line)}


def check_labels(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that every labelled submission has a right label, and there is one of each kind."""
    tests = {part.name: _tests_of(assignment, part) for part in assignment.parts}
    folders = labelled(course.submissions, assignment.name)
    for folder in folders:
        subject = folder.relative_to(course.submissions).as_posix()
        try:
            label = read_label(folder)
        except GraderError as error:
            yield Problem(subject, str(error))
            continue
        if label.part not in tests:
            meant = did_you_mean(label.part, tests)
            yield Problem(
                subject, (f"{FILE} names the part {label.part!r}, {meant}which does not exist")
            )
            continue
        known = tests[label.part]
        named = {*(label.subject or ()), *(label.failing_tests or ())}
        for name in sorted(named - known) if known else ():
            meant = did_you_mean(name, known)
            yield Problem(
                subject, (f"{FILE} names {name}, {meant}which is not a test of {label.part}")
            )
    for folder in sorted(course.submissions.glob("*/*")):
        if folder.is_dir() and folder.name not in course.names():
            meant = did_you_mean(folder.name, course.names())
            text = f"no assignment has this name, so it is never read; {meant}rename the folder"
            yield Problem(folder.relative_to(course.submissions).as_posix(), text)
    verdicts = {folder.parent.parent.name for folder in folders}
    if not verdicts - {"accepted"}:
        text = "no wrong submission shows that the suites find anything; add one"
        yield Problem(str(course.submissions), f"{text}: wrong_answer/{assignment.name}/<the bug>/")


def _tests_of(assignment: Assignment, part: Part) -> set[str]:
    """Return the tests of a part; none where its suite cannot be read, which another check says."""
    try:
        found = prices(assignment.folder / part.suite)
        return {price.test for price in found if price.at_least is None}
    except GraderError:
        return set()


STATIC_CHECKS: dict[str, Callable[[Course, Assignment], Iterator[Problem]]] = {
    "files": check_files,
    "suites": check_suites,
    "names that will be removed": check_deprecated_names,
    "template": check_template,
    "handout": check_handout,
    "student edition": check_student_edition,
    "labels": check_labels,
}
