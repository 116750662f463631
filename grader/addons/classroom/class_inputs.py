"""All that the command `class` reads before anything is graded."""

import argparse
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from grader.addons.classroom import (
    arrivals,
    class_file,
    manual_marks,
    name_clashes,
    roster,
    submission_times,
)
from grader.addons.classroom.class_file import ClassFile
from grader.addons.classroom.gradings import Circumstances
from grader.addons.classroom.hand_in import HandIn, Unreadable
from grader.addons.classroom.hand_in_names import Naming
from grader.addons.classroom.manual_marks import Marks
from grader.addons.classroom.marking import Questions
from grader.addons.classroom.roster import Roster
from grader.commands.context import courses_of, data_folder, named_courses
from grader.course.assignment import Assignment
from grader.course.courses import Courses
from grader.course.versions import engine_digest
from grader.model.errors import UsageError
from grader.model.points import total


@dataclass(frozen=True)
class ClassInputs:
    """What was handed in, and what is known beside it."""

    hand_ins: list[HandIn]
    unreadable: list[Unreadable]
    said: ClassFile
    roster: Roster
    marks: Marks
    unknown_times: list[str]
    """Labels in the table of times that nothing has."""
    courses: Courses
    assignment: Assignment | None
    """None: each hand-in is recognised by its files."""

    @property
    def questions(self) -> Questions:
        """Return what people mark, and what counts where nothing was handed in for it."""
        if self.assignment is None:
            return Questions(missing_is_zero=self.said.not_handed_in == "zero")
        manual = self.assignment.manual
        most = {each.name: each.points + each.hidden_points for each in self.assignment.parts}
        most |= {each.name: each.points for each in manual}
        return Questions(
            rubrics={
                each.name: tuple((line.points, line.asked) for line in each.rubric)
                for each in manual
            },
            files={each.name: each.file for each in manual},
            max_points=total(most[name] for name in self.said.parts or most),
            missing_is_zero=self.said.not_handed_in == "zero",
        )


def read(options: argparse.Namespace, out: Path) -> ClassInputs:
    """Return all of it. Raises UsageError or GraderError for what cannot be right."""
    file = options.config or options.folder / class_file.NAME
    is_given = options.config is not None or file.exists()
    said = class_file.read(file) if is_given else ClassFile()
    beside = file.parent
    students = roster.read(beside / said.roster) if said.roster is not None else Roster()
    students = roster.with_teams(students, said.teams, str(file))
    declared = Naming(said.platform, said.platform_assignment, students)
    naming = arrivals.naming_of(options.folder, declared)
    if naming != declared:
        print(
            f"All hand-ins are named as {naming.platform.capitalize()} names them, and were "
            f'read that way. To keep this, write platform = "{naming.platform}" in class.toml.'
        )
    hand_ins, unreadable = arrivals.read_folder(
        options.folder, out / "assembled", said.zone, naming
    )
    if not hand_ins and not unreadable:
        raise UsageError(
            f"{options.folder} holds no hand-in; expected a folder or an archive for each student"
        )
    unknown: list[str] = []
    if said.times is not None:
        times = submission_times.read(beside / said.times, said.zone)
        others = [each.hand_in for each in unreadable]
        hand_ins, unknown = arrivals.with_times(hand_ins, others, times, naming)
    if said.roster is not None:
        names = name_clashes.shared([*hand_ins, *(each.hand_in for each in unreadable)])
        hand_ins = [name_clashes.by_number(each, names) for each in hand_ins]
        unreadable = [
            replace(each, hand_in=name_clashes.by_number(each.hand_in, names))
            for each in unreadable
        ]
    courses = courses_of(options)
    name = options.assignment or said.assignment
    assignment = courses.assignment(name) if name else None
    if said.parts is not None:
        if assignment is None:
            raise UsageError(f"{file}: parts: only a named assignment has them; set `assignment`")
        if sentence := assignment.wrong_part(said.parts):
            raise UsageError(f"{file}: parts: {sentence}")
    return ClassInputs(
        hand_ins,
        unreadable,
        said,
        students,
        manual_marks.read([beside / each for each in said.mark_files]),
        unknown,
        courses,
        assignment,
    )


def circumstances(options: argparse.Namespace, inputs: ClassInputs, secret: bytes) -> Circumstances:
    """Return what marks follow from. Raises GraderError where nothing could be graded at all.

    secret: of the class; empty where its inputs are public.
    """
    image = ""
    if not options.unsealed and not options.judge_again:
        # Docker's client takes a quarter of a second to import.
        from grader.sealed.container.docker_engine import DockerEngine

        image = DockerEngine.connect().image_id(options.image)
    # Neither has an image, and the one makes marks.
    how = f"judged again, {'unsealed' if options.unsealed else 'sealed'}"
    return Circumstances(
        # An image holds the engine and the course that grade; those at hand do not matter then.
        engine_digest="" if image else engine_digest(),
        image=image,
        courses=()
        if image
        else tuple(f"{course.name} {course.digest()}" for course in inputs.courses.courses),
        assignment=inputs.assignment.name if inputs.assignment is not None else "",
        options=(*grading_options(options, inputs), *([how] if options.judge_again else [])),
        secret_digest=hashlib.sha256(b"class" + secret).hexdigest() if secret else "",
    )


def grading_options(options: argparse.Namespace, inputs: ClassInputs) -> list[str]:
    """Return the options of the command that grades each hand-in."""
    data = data_folder(options)
    found = ["--assignment", inputs.assignment.name] if inputs.assignment is not None else []
    found += [each for part in inputs.said.parts or () for each in ("--part", part)]
    found += ["--data", str(data.resolve())] if data is not None else []
    for course in named_courses(options):
        found += ["--course", str(course.resolve())]
    if not options.unsealed and not options.judge_again:
        found += ["--image", options.image]
    return found
