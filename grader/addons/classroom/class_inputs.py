"""Reads everything before grading starts: class.toml, the files that it names, and the hand-ins."""

import argparse
import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Meta, Struct, field

from grader.addons.classroom import arrivals, marking, roster
from grader.addons.classroom.arrivals import zoned
from grader.addons.classroom.hand_in_names import BEGIN_WITH_ASSIGNMENT, PLATFORMS, Naming
from grader.addons.classroom.marking import Marks, Questions
from grader.addons.classroom.policy import Policy
from grader.addons.classroom.roster import HandIn, Roster
from grader.addons.classroom.tables import read_settings
from grader.commands.context import courses_of, data_folder, named_courses, say_visibly
from grader.course import strict_toml
from grader.course.assignment import Assignment
from grader.course.courses import Courses, how_to_build
from grader.course.versions import engine_digest
from grader.intake.placement.recognition import full_name
from grader.model.errors import UsageError
from grader.model.points import total
from grader.sealed.container.plan import COURSE_LABEL

_CLASS_FILE = "class.toml"
Text = Annotated[str, Meta(min_length=1, max_length=200, description="a string")]
Time = Annotated[datetime, Meta(description="a date and time such as 2026-11-20T23:59:00+01:00")]
Times = Annotated[
    dict[Text, Time], Meta(description="a table that maps an id or a group to a time")
]
Share = Annotated[float, Meta(ge=0, le=1, description="a share from 0 to 1")]
Minutes = Annotated[int, Meta(ge=0, le=1440, description="a number of minutes from 0 to 1440")]
Days = Annotated[int, Meta(ge=1, le=366, description="a number of days from 1 to 366")]
Which = Annotated[str, Meta(pattern="^(last|best)$", description="last or best")]
Texts = Annotated[tuple[Text, ...], Meta(min_length=1, description="a list of strings")]
Files = Annotated[str | tuple[Text, ...], Meta(description="a file name, or a list of file names")]
Teams = Annotated[
    dict[Text, Texts], Meta(description="a table that maps the name of a team to a list of ids")
]
Missing = Annotated[str, Meta(pattern="^(person|zero)$", description="person or zero")]
Platform = Annotated[
    str, Meta(pattern=rf"\A({'|'.join(PLATFORMS)})\Z", description=f"one of {', '.join(PLATFORMS)}")
]


class LateTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[late]`: what lateness costs."""

    per_day: Share = 0.0
    grace_min: Minutes = 0
    last_day: Days | None = None


class ClassFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All that `class.toml` may say; each key may be left out."""

    assignment: Text | None = None
    parts: Texts | None = None
    """The parts of the class, including those graded by hand; None for all."""
    platform: Platform = ""
    """The platform of the hand-ins; empty if each is named by an id on the roster."""
    platform_assignment: Text = ""
    """The assignment's name there, if names of hand-ins begin with it."""
    deadline: Time | None = None
    timezone: Text = "UTC"
    """Of times that a platform writes without one, and of a deadline without one."""
    counts: Which = "last"
    roster: Text | None = None
    """A file beside class.toml, as those of the next two."""
    times: Text | None = None
    marks: Files = ()
    not_handed_in: Missing = "person"
    """What happens to a missing file or an empty hand-in: by hand, or 0 points."""
    teams: Teams = field(default_factory=dict)
    late: LateTable = field(default_factory=LateTable)
    extensions: Times = field(default_factory=dict)

    @property
    def zone(self) -> tzinfo:
        """Return the time zone."""
        return UTC if self.timezone == "UTC" else ZoneInfo(self.timezone)

    @property
    def policy(self) -> Policy:
        """Return the rules."""
        return Policy(
            deadline=None if self.deadline is None else zoned(self.deadline, self.zone),
            grace=timedelta(minutes=self.late.grace_min),
            late_per_day=float(self.late.per_day),
            last_day=self.late.last_day,
            takes_best=self.counts == "best",
            extensions={key: zoned(at, self.zone) for key, at in self.extensions.items()},
        )


def class_file_mistakes(table: strict_toml.Table) -> Iterator[str]:
    """Yield mistakes that involve several keys of class.toml."""
    name = table.get("timezone")
    if name is not None and name != "UTC":
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            yield f"timezone: found {name!r:.40}; expected a name such as Europe/Zurich"
    platform, title = table.get("platform"), table.get("platform_assignment")
    if platform in BEGIN_WITH_ASSIGNMENT and not title:
        yield (
            f"platform_assignment: missing. Hand-ins from {platform} are named after the "
            "assignment there; write that name here"
        )
    if title and platform not in BEGIN_WITH_ASSIGNMENT:
        expected = " or ".join(BEGIN_WITH_ASSIGNMENT)
        yield f"platform_assignment: no effect unless platform is {expected}; remove it"
    for key in ("late", "extensions"):
        if table.get(key) and not table.get("deadline"):
            yield f"{key}: no effect without a deadline; add one, or leave {key} out"
    if table.get("teams") and not table.get("roster"):
        yield "teams: no effect without a roster; name one with an id column"
    deadline = table.get("deadline")
    if deadline is None:
        return
    for key, at in (table.get("extensions") or {}).items():
        is_comparable = at is not None and bool(at.tzinfo) == bool(deadline.tzinfo)
        if is_comparable and at < deadline:  # the later of both would count
            yield (
                f"extensions.{key}: found {at.isoformat(' ')}, which is before the deadline; "
                "expected a later time"
            )


@dataclass(frozen=True)
class ClassInputs:
    """The hand-ins, and everything else that is known about the class."""

    hand_ins: list[HandIn]
    unreadable: list[HandIn]
    """Hand-ins that cannot be graded, and why."""
    said: ClassFile
    roster: Roster
    marks: Marks
    unknown_times: list[str]
    """Labels in the table of times without a hand-in."""
    courses: Courses
    assignment: Assignment | None
    """None: each hand-in is recognised by its files."""
    files: list[Path]
    """class.toml and the files that it names."""

    @property
    def questions(self) -> Questions:
        """Return the questions graded by hand, and what counts if nothing was handed in."""
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
    """Return all inputs. Raises UsageError or GraderError for invalid ones."""
    file = options.config or options.folder / _CLASS_FILE
    is_given = options.config is not None or file.exists()
    said = read_settings(file, ClassFile, class_file_mistakes) if is_given else ClassFile()
    beside = file.parent
    students = roster.read(beside / said.roster) if said.roster is not None else Roster()
    students = roster.with_teams(students, said.teams, str(file))
    declared = Naming(said.platform, said.platform_assignment, students)
    naming = arrivals.naming_of(options.folder, declared)
    if naming != declared:
        print(
            f"All names look like {naming.platform.capitalize()}'s, and are read accordingly. "
            f'To set the platform, write platform = "{naming.platform}" in class.toml.'
        )
    hand_ins = arrivals.read_folder(options.folder, out / "assembled", said.zone, naming)
    if not hand_ins:
        raise UsageError(
            f"{options.folder} contains no hand-ins; expected a folder or an archive for each "
            "student"
        )
    unknown: list[str] = []
    if said.times is not None:
        times = arrivals.read_times(beside / said.times, said.zone)
        hand_ins, unknown = arrivals.with_times(hand_ins, times, naming)
    if said.roster is not None:
        hand_ins = roster.namesakes_apart(hand_ins)
    courses = courses_of(options)
    name = options.assignment or said.assignment
    assignment = courses.assignment(name) if name else None
    if said.parts is not None:
        if assignment is None:
            raise UsageError(f"{file}: parts: no effect without an assignment; set `assignment`")
        if sentence := assignment.wrong_part(said.parts):
            raise UsageError(f"{file}: parts: {sentence}")
    marks = (said.marks,) if isinstance(said.marks, str) else said.marks
    named = [beside / each for each in (said.roster, said.times, *marks) if each is not None]
    return ClassInputs(
        [each for each in hand_ins if not each.problem],
        [each for each in hand_ins if each.problem],
        said,
        students,
        marking.read([beside / each for each in marks]),
        unknown,
        courses,
        assignment,
        [file, *named] if is_given else [],
    )


def circumstances(
    options: argparse.Namespace, inputs: ClassInputs, secret: bytes
) -> Mapping[str, object]:
    """Return everything but the hand-in that a mark depends on, for the keys of gradings.

    secret: of the class; empty if its inputs are public. A key does not reveal it. Raises
    GraderError if nothing could be graded at all.
    """
    image = ""
    if not options.unsealed and not options.judge_again:
        # Docker's client takes a quarter of a second to import.
        from grader.sealed.container.docker_engine import DockerEngine

        image = DockerEngine.connect().image_id(options.image)
    found = grading_options(options, inputs)
    if options.judge_again:  # Sealed and unsealed must differ, although neither has an image.
        found.append(f"judged again, {'unsealed' if options.unsealed else 'sealed'}")
    courses = () if image else inputs.courses.courses
    return {
        # An image contains the engine and the course that grade; the local ones do not matter.
        "engine_digest": "" if image else engine_digest(),
        "image": image,
        "courses": [f"{course.name} {course.digest()}" for course in courses],
        "assignment": inputs.assignment.name if inputs.assignment is not None else "",
        "options": found,
        "secret_digest": hashlib.sha256(b"class" + secret).hexdigest() if secret else "",
    }


def require_image_of_course(
    options: argparse.Namespace, inputs: ClassInputs, marked_by: Collection[str]
) -> None:
    """Warn before grading if the image has another version of the course than this folder.

    marked_by: digests of the courses that gave marks. Raises UsageError if later hand-ins would get
    other prices, or if the image is of another course than the assignment's.
    """
    from grader.sealed.container.docker_engine import DockerEngine

    label = DockerEngine.connect().label(options.image, COURSE_LABEL)
    name, _, held = label.partition(" ")
    if name and inputs.assignment is not None and inputs.assignment.course != name:
        course = inputs.courses.of(inputs.assignment)
        raise UsageError(
            f"the image {options.image!r} has the course {name}, but not the assignment "
            f"{inputs.assignment.name} of {course.name}; {how_to_build(course)}"
        )
    for course in inputs.courses.courses:
        here = course.digest()
        if course.name != name or held in ("", here):
            continue
        told = (
            f"the version of the course {name} in the image {options.image!r} differs from the "
            f"one in {course.root}"
        )
        if marked_by and (here in marked_by or held not in marked_by):
            raise UsageError(
                f"{told}. Earlier hand-ins were graded with a version other than the image's. To "
                f"grade all hand-ins at the same prices, {how_to_build(course)}"
            )
        say_visibly(
            f"note: {told}. The marks come from the image; to update it, {how_to_build(course)}"
        )


def grading_options(options: argparse.Namespace, inputs: ClassInputs) -> list[str]:
    """Return the options of the command that grades each hand-in."""
    data = data_folder(options)
    found: list[str] = []
    if inputs.assignment is not None:
        found = ["--assignment", full_name(inputs.assignment, inputs.courses.readable())]
    found += [each for part in inputs.said.parts or () for each in ("--part", part)]
    found += ["--data", str(data.resolve())] if data is not None else []
    for course in named_courses(options):
        found += ["--course", str(course.resolve())]
    if not options.unsealed and not options.judge_again:
        found += ["--image", options.image]
    return found
