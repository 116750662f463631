"""The command that grades where it is called: check, by a student and within a container."""

import _thread
import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from grader import journal, pipeline
from grader.commands.context import (
    courses_of,
    data_folder,
    is_sealed,
    live_view,
    named_courses,
    say,
    say_visibly,
)
from grader.commands.recorder import keep_last, recorder_of_check
from grader.commands.reporting import finish, named_submission, require_reports_writable
from grader.commands.watched import watched
from grader.data import Data
from grader.errors import GradingLost
from grader.intake import process as intake
from grader.intake import stream as intake_stream
from grader.journal import Journal, Resume
from grader.model import Report
from grader.runner import rank_host
from grader.secret import secret_beside_ranks
from grader.settings import Settings
from grader.suite.selection import Selection


def check(options: argparse.Namespace) -> int:
    """Grade a submission here; return the exit code of its mark.

    What a client sends, the client watches.
    """
    if options.from_stdin:
        return finish(_grade_stdin(options), options, is_for_client=True)
    if not options.is_watched:
        return finish(_grade_and_keep(options), options)
    return watched(
        lambda resume, write: _grade(options, resume, write), lambda report: finish(report, options)
    )


def _grade_and_keep(options: argparse.Namespace) -> Report:
    """Grade what was named; what was seen is kept for who wants to look closer."""
    settings = settings_of(options)
    if settings.sealed or options.no_recording:
        return _grade(options, Resume(), lambda line: None)
    require_reports_writable(options)
    recorder = recorder_of_check()
    report = grade_here(options, replace(settings, on_observed=recorder.keep))
    keep_last(named_submission(options), recorder.recording(report, settings))
    return report


def _grade(options: argparse.Namespace, resume: Resume, write: Callable[[str], None]) -> Report:
    require_reports_writable(options)
    return grade_here(options, settings_of(options), resume, write)


def grade_here(
    options: argparse.Namespace,
    settings: Settings,
    resume: Resume | None = None,
    write: Callable[[str], None] = lambda line: None,
) -> Report:
    """Grade what was named, and show how far that is."""
    resume = resume or Resume()
    live = live_view(options, verbose=options.verbose)
    settings = replace(
        settings,
        progress=live.progress,
        journal=Journal(resume, write, lambda each: live.finished(each.step.part, each.result)),
        notes=resume.notes,
    )
    with _telling_what_is_lost(settings.journal):
        report = pipeline.grade(
            named_submission(options), assignment=options.assignment, settings=settings
        )
    live.close()
    return report


def settings_of(options: argparse.Namespace) -> Settings:
    """Return how options and environment want it to be graded here."""
    sealed = is_sealed(os.environ)
    return Settings(
        courses=courses_of(options),
        named_courses=tuple(named_courses(options)),
        mode="container" if sealed else "local",
        sealed=sealed,
        secret=secret_beside_ranks(is_sealed=sealed),
        parts=options.part,
        selection=selection_of(options),
        data=Data(data_folder(options)),
        shows_hidden=options.show_hidden,
        rank_host=rank_host.from_environment(os.environ),
    )


def _grade_stdin(options: argparse.Namespace) -> Report:
    """Grade what the client sends; end when the client goes away."""
    require_reports_writable(options)
    settings = settings_of(options)
    secret = intake_stream.read_secret(sys.stdin.buffer)
    found = intake_stream.read_submission(sys.stdin.buffer)
    resume = journal.read(sys.stdin.buffer)
    intake_stream.when_client_leaves(sys.stdin.fileno(), _thread.interrupt_main)
    settings = replace(
        settings,
        secret=secret or settings.secret,
        flags_are_ours=True,
        # Each in a line of its own: what is shown of it, and how, is the client's business.
        progress=say_visibly,
        journal=Journal(resume, say),
        notes=resume.notes,
    )
    origin = str(options.submission or "the submission")
    with _telling_what_is_lost(settings.journal):
        settings.journal.beat("reading the submission")
        submission = intake.unpack(found, origin, pipeline.intake_user(settings))
        return pipeline.grade_as(submission, options.assignment, settings)


@contextlib.contextmanager
def _telling_what_is_lost(journal: Journal) -> Iterator[None]:
    """Tell who watches us that a fresh judge may go on where we cannot."""
    try:
        yield
    except GradingLost as error:
        journal.lost(str(error))
        raise


def selection_of(options: argparse.Namespace) -> Selection:
    """Return which tests options ask for."""
    return Selection(tuple(options.only or ()), options.ranks, options.fail_fast)
