"""What the command `grade` does: it and `commands` are all that prints."""

import _thread
import argparse
import contextlib
import io
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader import __version__, pipeline, versions
from grader.arguments import Command, parser, selecting
from grader.commands import authors
from grader.commands.context import courses_of, is_sealed
from grader.data import Data
from grader.errors import GraderError, UsageError
from grader.intake import process as intake
from grader.model import Report
from grader.opening import open_submission
from grader.report import json_report, junit, markdown, terminal
from grader.report.ended import ended
from grader.report.live import Live
from grader.report.page import Page
from grader.report.safe_text import disarm, one_line
from grader.runner import intake_stream, journal, place, protections
from grader.runner.journal import Journal
from grader.secret import course_secret, secret_beside_ranks
from grader.settings import Settings
from grader.suite.inputs import PUBLIC_SECRET
from grader.suite.selection import Selection

_DEFAULT_WIDTH = 80
_MAX_WIDTH = 100


def run(arguments: Sequence[str]) -> int:
    """Run one command; return 0 for full marks, 1 for points lost, 2 for bad usage, 3 for no mark.

    Raises GraderError, whose class has the exit code.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options = parser(_COMMANDS, _PrintVersions).parse_args(arguments)
    except SystemExit as end:  # from here alone: what else ends a program is no mark
        return 0 if end.code in (0, None) else UsageError.exit_code
    command: Command = options.command
    return command(options)


class _PrintVersions(argparse.Action):
    def __call__(self, _: object, options: argparse.Namespace, *__: object) -> None:
        print(f"grade {__version__}")
        print(f"engine {versions.engine_digest()}")
        for course in courses_of(options).courses:
            print(f"course {course.name} {course.digest()}")
        print(f"lock {versions.lock_digest()}")
        for name, version in versions.packages().items():
            print(f"{name} {version}")
        sys.exit(0)


def _check(options: argparse.Namespace) -> int:
    _require_writable(options)
    live = _live(options)
    sealed = is_sealed(os.environ)
    settings = Settings(
        courses=courses_of(options),
        door="container" if sealed else "check",
        sealed=sealed,
        secret=secret_beside_ranks(is_sealed=sealed),
        parts=options.part,
        selection=_selection(options),
        progress=live.progress,
        journal=Journal(on_finished=lambda each: live.finished(each.step.part, each.result)),
        data=Data(_data_folder(options)),
        shows_hidden=options.show_hidden,
        place=place.from_environment(os.environ),
    )
    if options.from_stdin:
        report = _grade_stdin(options, settings)
    else:
        report = pipeline.grade(_named(options), assignment=options.assignment, settings=settings)
    live.close()
    return _finish(report, options)


def _grade_stdin(options: argparse.Namespace, settings: Settings) -> Report:
    """Grade what the client sends; end when the client goes away."""
    secret = intake_stream.read_secret(sys.stdin.buffer)
    found = intake_stream.read_submission(sys.stdin.buffer)
    resume = journal.read(sys.stdin.buffer)
    intake_stream.when_client_leaves(sys.stdin.fileno(), _thread.interrupt_main)
    settings = replace(
        settings,
        secret=secret or settings.secret,
        flags_are_ours=True,
        # Each in a line of its own: what is shown of it, and how, is the client's business.
        progress=_say_visibly,
        journal=Journal(resume, _say),
        notes=resume.notes,
    )
    origin = str(options.submission or "the submission")
    submission = intake.unpack(found, origin, pipeline.intake_user(settings))
    return pipeline.grade_as(submission, options.assignment, settings)


def _run(options: argparse.Namespace) -> int:
    # Only this door needs Docker's client, which takes a quarter of a second to import.
    from grader.container import sealed_door

    folder = _named(options)
    _require_writable(options)
    live = _live(options)
    # The container's client is no terminal: what it says comes in whole lines.
    secret = course_secret()
    data = sealed_door.grade_in_container(
        folder,
        courses=courses_of(options),
        image=options.image,
        engine=options.engine,
        ranks_image=options.ranks_image if options.isolation == "two-containers" else None,
        assignment=options.assignment,
        options=[*selecting(options), "--", str(folder)],
        data=_data_folder(options),
        on_progress=live.progress,
        on_finished=lambda each: live.finished(each.step.part, each.result),
        secret=b"" if secret == PUBLIC_SECRET else secret,
    )
    live.close()
    return _finish(json_report.parse(data), options)


def _selftest(options: argparse.Namespace) -> int:
    """Try it in this container, else in one that is started as for a grading."""
    is_here = is_sealed(os.environ)
    if is_here:
        where = place.from_environment(os.environ)
        found = pipeline.selftest(Settings(courses=courses_of(options), sealed=True, place=where))
    else:
        from grader.container import sealed_door  # as for `run`

        ranks_image = options.ranks_image if options.isolation == "two-containers" else None
        data = sealed_door.selftest_in_container(
            image=options.image, engine=options.engine, ranks_image=ranks_image
        )
        found = protections.parse(data)
    flags_are_ours = options.from_stdin or not is_here
    reason = protections.refusal(found, flags_are_ours=flags_are_ours)
    if options.json:
        print(protections.render(found))
    else:
        print(protections.table(found))
        print()
        print(reason or protections.note(found) or "everything holds: submissions can be graded")
    return GraderError.exit_code if reason else 0


def _selection(options: argparse.Namespace) -> Selection:
    return Selection(tuple(options.only or ()), options.ranks, options.fail_fast)


def _named(options: argparse.Namespace) -> Path:
    if options.submission is None:
        raise UsageError("name the folder to grade, such as `grade check .`")
    path: Path = options.submission
    if is_sealed(os.environ) and not path.exists():
        raise UsageError(
            f"{path} is not in the container; mount what to grade there: "
            f'docker run -v "$PWD:{path}:ro" grade'
        )
    return path


def _require_writable(options: argparse.Namespace) -> None:
    """Raise UsageError for a report that could not be written once all is graded."""
    wanted = [options.junit, options.markdown]
    wanted += [Path(options.json)] if options.json not in (None, "-") else []
    for file in filter(None, wanted):
        if file.is_dir() or not os.access(file.parent, os.W_OK | os.X_OK):
            raise UsageError(
                f"{file} cannot be written; expected a file in a folder that exists and that you "
                "may write to"
            )


def _data_folder(options: argparse.Namespace) -> Path | None:
    folder = options.data or os.environ.get("GRADER_DATA")
    return Path(folder) if folder else None


def _finish(report: Report, options: argparse.Namespace) -> int:
    """Write and show what was asked for; return the exit code.

    The files come first: they are there though nobody reads on. Raises GraderError when one of
    them could not be written, after all the rest.
    """
    asked = (
        (options.junit, junit.render),
        (options.markdown, markdown.render),
        (Path(options.json) if options.json not in (None, "-") else None, json_report.render),
    )
    unwritten = [_unwritten(file, render(report)) for file, render in asked if file is not None]
    if options.json == "-":
        print(json_report.render(report))
    else:
        colour, width = _look(sys.stdout.isatty(), options)
        print(
            terminal.render(
                report,
                colour=colour,
                width=width,
                plain=options.plain,
                verbose=options.verbose,
            )
        )
    for problem in filter(None, unwritten):
        raise GraderError(problem)
    if options.min_score is not None and report.score is not None and not report.review:
        return 0 if report.score >= options.min_score else 1
    return report.exit_code


def _unwritten(file: Path, text: str) -> str:
    """Write a report; return why that was not possible, if so."""
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        return f"{file} cannot be written: {error.strerror}"
    return ""


def _live(options: argparse.Namespace) -> Live:
    """Return what shows a run that is still going on."""
    is_terminal = sys.stderr.isatty()
    colour, width = _look(is_terminal, options)
    page = Page(colour, options.plain, width, options.verbose)
    return Live(page, lambda text: _say(text, end=""), is_terminal=is_terminal)


def _look(is_terminal: bool, options: argparse.Namespace) -> tuple[bool, int]:
    """Return whether there is colour, and how many columns."""
    colour = is_terminal and not options.plain and not os.environ.get("NO_COLOR")
    columns = shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns
    return colour, min(columns, _MAX_WIDTH) if is_terminal else _DEFAULT_WIDTH


def _say_visibly(line: str) -> None:
    """Say what may repeat a student's words: the log of a CI runner must not obey it."""
    _say(disarm(one_line(line)))


def _say(line: str, end: str = "\n") -> None:
    """Say something beside the report; what nobody can be told is not worth failing for."""
    with contextlib.suppress(OSError):
        print(line, end=end, file=sys.stderr, flush=True)


def _open(options: argparse.Namespace) -> int:
    """Run tests in the open; return 0 if all hold, 1 if one does not. No mark comes of it."""
    colour, width = _look(sys.stdout.isatty(), options)
    end = open_submission(options, courses_of(options), colour=colour)
    if end.failure is not None:
        page = Page(colour, options.plain, width, verbose=True)
        print("\n".join(ended(page, end.test, end.failure)))
    return end.exit_code


_COMMANDS = {
    "check": _check,
    "run": _run,
    "selftest": _selftest,
    "open": _open,
    "list": authors.list_assignments,
    "template": authors.write_template,
    "new": authors.write_new,
    "verify": authors.verify_assignments,
}
