"""The commands that part observing from judging: observe and judge."""

import argparse
from dataclasses import replace

from grader.commands.checking import grade_here, selection_of, settings_of
from grader.commands.context import courses_of, data_folder, is_sealed, named_courses, say_visibly
from grader.commands.recorder import Recorder, require_observer
from grader.commands.reporting import finish, named_seed, named_submission, require_reports_writable
from grader.course.courses import Courses
from grader.course.data import Data
from grader.course.secret import PUBLIC, Secret, named_secret, recording_key, require_kept
from grader.course.versions import observer_digest
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.intake import process as intake
from grader.judge.explanation.launch_result import explaining
from grader.model.errors import GraderError, UsageError
from grader.model.plural import counted
from grader.model.points import UNSIGNED
from grader.model.report import Verdict
from grader.recording.recording import Header, read, write
from grader.recording.replay import replaying
from grader.report.files import require_writable


def observe(options: argparse.Namespace) -> int:
    """Grade what was named, and write down what was seen of its launches."""
    require_writable([options.recording])
    key = recording_key(is_sealed=is_sealed())
    recorder = Recorder()
    settings = replace(settings_of(options), on_observed=recorder.keep)
    require_kept(settings.seed, is_kept=options.seed_of is not None)
    report = grade_here(options, settings)
    for part in report.parts:
        if part.verdict is Verdict.JUDGE_ERROR:
            say_visibly(f"{part.name}: {part.message}")
    write(options.recording, recorder.recording(report, settings), key)
    num_bytes = options.recording.stat().st_size
    launches = counted(len(recorder.launches), "launch", "launches")
    print(f"{options.recording}: {launches}, {num_bytes / 2**20:.1f} MiB")
    return 3 if report.score is None else 0


def judge(options: argparse.Namespace) -> int:
    """Judge a recorded submission; return the exit code of its report."""
    require_reports_writable(options)
    recording = read(options.recording, recording_key(is_sealed=True))
    courses = courses_of(options)
    header = recording.header
    assignment = courses.assignment(header.assignment, header.course)
    name = f"{header.course}/{header.assignment}"
    require_observer(options.recording, header, options.observer or observer_digest())
    submission = intake.read(named_submission(options), assignment.wanted)
    if submission.digest != header.submission:
        raise UsageError(
            f"the files in {options.submission} have changed since {options.recording} was "
            "recorded; record them again with `grade observe`"
        )
    _require_course(options, header, courses)
    if not header.is_whole:
        raise GraderError(
            f"{options.recording} is incomplete, because its grading had too many launches or a "
            "judge was killed; grade the submission again"
        )
    is_mark = recording.is_authentic and header.host == "sealed" and not options.observer
    if options.require_mark and not is_mark:
        raise GraderError(
            f"{options.recording} cannot give a mark: no sealed grading signed it with "
            "the key in GRADER_RECORDING_KEY_FILE; grade the submission again"
        )
    secret = secret_of(recording.header, named_seed(options))
    start = replaying(recording.launches.get, recording.launches.values)
    settings = Settings(
        courses=courses,
        named_courses=tuple(named_courses(options)),
        mode="container" if is_mark else "local",
        secret=secret.data,
        parts=options.part,
        selection=selection_of(options),
        data=Data(data_folder(options)),
        shows_hidden=options.show_hidden,
        notes=() if is_mark else (UNSIGNED,),
        launch=explaining(start),
    )
    report = pipeline.grade_as(submission, name, settings)
    notes = tuple(dict.fromkeys((*header.notes, *report.notes)))
    return finish(replace(report, notes=notes, seed=secret.seed), options)


def secret_of(header: Header, seed: str) -> Secret:
    """Return what the inputs of a recording follow from.

    seed: of its grading. Raises UsageError for a seed where inputs are public.
    """
    if header.host == "sealed":
        return named_secret(seed)
    if seed:
        raise UsageError("--seed-of: a local recording has public inputs; leave --seed-of out")
    return PUBLIC


def _require_course(options: argparse.Namespace, header: Header, courses: Courses) -> None:
    if options.assignment not in (None, header.assignment, f"{header.course}/{header.assignment}"):
        raise UsageError(
            f"{options.recording} is a recording of the assignment {header.assignment}, not of "
            f"{options.assignment}; leave --assignment out"
        )
    course = courses.having(header.assignment, header.course).name
    if course != header.course:
        raise UsageError(
            f"{options.recording} was recorded for the course {header.course}, but "
            f"{header.assignment} belongs to the course {course} here; name the folder of "
            f"{header.course} with --course"
        )
