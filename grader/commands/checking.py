"""The command that grades where it is called: check, by a student and within a container."""

import _thread
import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from grader.commands.context import (
    courses_of,
    data_folder,
    is_sealed,
    live_view,
    named_courses,
    say,
    say_visibly,
)
from grader.commands.recorder import Recorder, kept_launches
from grader.commands.reporting import (
    finish,
    is_kept,
    named_seed,
    named_submission,
    require_reports_writable,
)
from grader.commands.watched import watched
from grader.course.data import Data
from grader.course.secret import require_kept, require_private, secret_beside_ranks
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.grading_plugin.marks import Selection
from grader.intake import stream as intake_stream
from grader.model.errors import GradingLost
from grader.model.report import Report
from grader.recording import journal
from grader.recording.journal import Journal, Resume
from grader.recording.recording import Recording, packed, write
from grader.report.files import require_writable
from grader.sealed.container.kernel_refusals import has_passed_here
from grader.sealed.container.stream_demux import RECORDING_MARK


def check(options: argparse.Namespace) -> int:
    """Grade a submission here; return the exit code of its mark.

    What a client sends, the client watches.
    """
    if options.from_stdin:
        return _check_stdin(options)
    require_reports_writable(options)
    require_writable([options.recording])
    settings = settings_of(options)
    if options.recording is not None:
        require_kept(settings.seed, is_kept=is_kept(options))
    recorder = Recorder()
    if options.recording is not None or not (settings.sealed or options.no_recording):
        settings = replace(settings, on_observed=recorder.keep)

    def grade(resume: Resume, write_line: Callable[[str], None]) -> Report:
        return grade_here(options, settings, resume, write_line)

    def show(report: Report) -> int:
        exit_code = finish(report, options)
        _keep(options, recorder.recording(report, settings))
        return exit_code

    if not options.is_watched:
        return show(grade(Resume(), lambda line: None))
    return watched(grade, show)


def _check_stdin(options: argparse.Namespace) -> int:
    """Grade what a client sends, which is given the recording after the report if it asks."""
    require_reports_writable(options)
    settings, recorder = settings_of(options), Recorder()
    secret = intake_stream.read_secret(sys.stdin.buffer)
    origin = str(options.submission or "the submission")
    submission = intake_stream.read_submission(sys.stdin.buffer, origin)
    resume = journal.read(sys.stdin.buffer)
    intake_stream.when_client_leaves(sys.stdin.fileno(), _thread.interrupt_main)
    settings = replace(
        settings,
        secret=secret or settings.secret,
        flags_are_ours=True,
        kernel_is_tried=not has_passed_here(),
        # Each in its own line: the client decides what is shown of it, and how.
        progress=say_visibly,
        journal=Journal(resume, say),
        notes=resume.notes,
    )
    if options.send_recording:
        settings = replace(settings, on_observed=recorder.keep)
    with _telling_what_is_lost(settings.journal):
        report = pipeline.grade_as(submission, options.assignment, settings)
    exit_code = finish(report, options, is_for_client=True)
    if options.send_recording:
        sys.stdout.flush()
        sys.stdout.buffer.write(RECORDING_MARK + packed(recorder.recording(report, settings)))
        sys.stdout.buffer.flush()
    return exit_code


def _keep(options: argparse.Namespace, recording: Recording) -> None:
    """Keep what was seen, for `grade trace`, or to judge it again."""
    if options.recording is not None:
        write(options.recording, recording)
    if not options.no_recording and not is_sealed():
        kept_launches().keep_all(recording.launches)


def grade_here(
    options: argparse.Namespace,
    settings: Settings,
    resume: Resume | None = None,
    write: Callable[[str], None] = lambda line: None,
) -> Report:
    """Grade what was named, and show how far that is."""
    resume = resume or Resume()
    with live_view(options, verbose=options.verbose, quiet=options.quiet) as live:
        settings = replace(
            settings,
            progress=live.progress,
            journal=Journal(resume, write, live.ended),
            notes=resume.notes,
        )
        with _telling_what_is_lost(settings.journal):
            report = pipeline.grade(
                named_submission(options), assignment=options.assignment, settings=settings
            )
    return replace(report, seed=settings.seed, image=os.environ.get("GRADER_IMAGE", ""))


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings that options and environment ask for."""
    sealed = is_sealed()
    if sealed and options.seed_of is not None:
        require_private(options.seed_of, "the report")
    secret = secret_beside_ranks(is_sealed=sealed, seed=named_seed(options))
    return Settings(
        courses=courses_of(options),
        named_courses=tuple(named_courses(options)),
        mode="container" if sealed else "local",
        sealed=sealed,
        secret=secret.data,
        seed=secret.seed,
        parts=options.part,
        selection=selection_of(options),
        data=Data(data_folder(options)),
        shows_hidden=options.show_hidden,
    )


@contextlib.contextmanager
def _telling_what_is_lost(journal: Journal) -> Iterator[None]:
    """Tell the watching process that a fresh judge may continue where we cannot."""
    try:
        yield
    except GradingLost as error:
        journal.lost(str(error))
        raise


def selection_of(options: argparse.Namespace) -> Selection:
    """Return which tests options ask for."""
    return Selection(tuple(options.only or ()), options.ranks, options.fail_fast)
