"""The commands that part observing from judging: observe and judge."""

import argparse
import os
import platform
from dataclasses import replace

from grader import pipeline
from grader.commands.checking import grade_here, selection_of, settings_of
from grader.commands.context import courses_of, data_folder, is_sealed, named_courses
from grader.commands.reporting import finish, named_submission, require_reports_writable
from grader.courses import Courses
from grader.data import Data
from grader.errors import UsageError
from grader.intake import process as intake
from grader.model import Report
from grader.recording.codec import encode
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import LaunchObservation
from grader.recording.plan_key import field_digests, key_of
from grader.recording.recording import Header, RecordedLaunch, Recording, read, write
from grader.recording.replay import is_worth_keeping, label_of, replaying
from grader.report.files import require_writable
from grader.secret import course_secret, recording_key
from grader.settings import Settings
from grader.versions import observer_digest

_NO_MARK = (
    "judged from a recording that the course has not signed in a sealed grading: this is feedback, "
    "and no mark"
)


def observe(options: argparse.Namespace) -> int:
    """Grade what was named, and write down what was seen of its launches."""
    require_writable([options.recording])
    key = recording_key(is_sealed=is_sealed(os.environ))
    launches: dict[str, RecordedLaunch] = {}

    def keep(plan: LaunchPlan, observed: LaunchObservation) -> None:
        if is_worth_keeping(observed):
            fields = field_digests(plan)
            launches[key_of(fields)] = RecordedLaunch(fields, label_of(plan), encode(observed))

    settings = replace(settings_of(options), on_observed=keep)
    report = grade_here(options, settings)
    write(options.recording, Recording(_header(report, settings), launches), key)
    num_bytes = options.recording.stat().st_size
    print(f"{options.recording}: {len(launches)} launches, {num_bytes / 2**20:.1f} MiB")
    return 3 if report.score is None else 0


def _header(report: Report, settings: Settings) -> Header:
    machine = {"kernel": platform.release(), "processor": platform.machine()}
    return Header(
        observer=observer_digest(),
        host="sealed" if settings.sealed else "local",
        environment={**report.versions.packages, **machine},
        submission=report.submission_digest,
        assignment=report.assignment,
        course=report.versions.course,
        course_digest=report.versions.course_digest,
    )


def judge(options: argparse.Namespace) -> int:
    """Judge a recorded submission; return the exit code of its report."""
    require_reports_writable(options)
    recording = read(options.recording, recording_key(is_sealed=True))
    courses = courses_of(options)
    header = recording.header
    _require_observer(options, header)
    submission = intake.read(named_submission(options), courses.wanted(header.assignment))
    if submission.digest != header.submission:
        raise UsageError(
            f"{options.recording} was recorded of other files than {options.submission} has now; "
            "make it again with `grade observe`"
        )
    _require_course(options, header, courses)
    is_mark = recording.is_authentic and header.host == "sealed" and not options.observer
    start = replaying(recording.launches.get, recording.launches.values)
    settings = Settings(
        courses=courses,
        named_courses=tuple(named_courses(options)),
        mode="container" if is_mark else "local",
        secret=course_secret(),
        parts=options.part,
        selection=selection_of(options),
        data=Data(data_folder(options)),
        shows_hidden=options.show_hidden,
        notes=() if is_mark else (_NO_MARK,),
        launch=pipeline.explaining(start),
    )
    return finish(pipeline.grade_as(submission, header.assignment, settings), options)


def _require_observer(options: argparse.Namespace, header: Header) -> None:
    ours = options.observer or observer_digest()
    if header.observer != ours:
        raise UsageError(
            f"{options.recording} was recorded by the observer {header.observer}, and this grader "
            f"judges what {ours} has recorded; make it again with `grade observe`, or name the "
            "other one with --observer"
        )


def _require_course(options: argparse.Namespace, header: Header, courses: Courses) -> None:
    if options.assignment not in (None, header.assignment):
        raise UsageError(
            f"{options.recording} was recorded of the assignment {header.assignment}, not of "
            f"{options.assignment}; leave --assignment out"
        )
    course = courses.of(courses.assignment(header.assignment)).name
    if course != header.course:
        raise UsageError(
            f"{options.recording} was recorded for the course {header.course}, and "
            f"{header.assignment} is of the course {course} here; name the other one with --course"
        )
