"""What the command `grade` does: the only file that prints."""

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

from grader import __version__, pipeline, tracing
from grader import assignment as assignments
from grader.arguments import Command, parser, selecting
from grader.authoring import catalogue, template
from grader.data import Data
from grader.errors import GraderError, UsageError
from grader.home import SUITES
from grader.intake import process as intake
from grader.model import Report
from grader.opening import open_submission
from grader.report import json_report, junit, markdown, terminal
from grader.report.ended import ended
from grader.report.files import require_writable, unwritten
from grader.report.live import Live
from grader.report.page import Page
from grader.report.safe_text import disarm, one_line
from grader.report.trace_json import trace_json
from grader.report.trace_page import trace_page
from grader.runner import intake_stream, journal, place, protections
from grader.runner.journal import Journal
from grader.secret import course_secret, secret_beside_ranks
from grader.settings import Settings
from grader.suite.inputs import PUBLIC_SECRET
from grader.suite.selection import Selection
from grader.versions import versions

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
    def __call__(self, *_: object) -> None:
        found = versions()
        print(f"grade {__version__}")
        print(f"source {found.source_digest}")
        print(f"lock {found.lock_digest}")
        for name, version in found.packages.items():
            print(f"{name} {version}")
        sys.exit(0)


def _check(options: argparse.Namespace) -> int:
    require_writable([options.json, options.junit, options.markdown])
    live = _live(options)
    sealed = _is_sealed()
    settings = Settings(
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
    require_writable([options.json, options.junit, options.markdown])
    live = _live(options)
    # The container's client is no terminal: what it says comes in whole lines.
    secret = course_secret()
    data = sealed_door.grade_in_container(
        folder,
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
    is_here = _is_sealed()
    if is_here:
        where = place.from_environment(os.environ)
        found = pipeline.selftest(Settings(sealed=True, place=where))
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


def _is_sealed() -> bool:
    return os.environ.get("GRADER_SEALED") == "1" and os.geteuid() == 0


def _named(options: argparse.Namespace) -> Path:
    if options.submission is None:
        raise UsageError("name the folder to grade, such as `grade check .`")
    path: Path = options.submission
    if _is_sealed() and not path.exists():
        raise UsageError(
            f"{path} is not in the container; mount what to grade there: "
            f'docker run -v "$PWD:{path}:ro" grade'
        )
    return path


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
    problems = [unwritten(file, render(report)) for file, render in asked if file is not None]
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
    for problem in filter(None, problems):
        raise GraderError(problem)
    if options.min_score is not None and report.score is not None and not report.review:
        return 0 if report.score >= options.min_score else 1
    return report.exit_code


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
    end = open_submission(options, colour=colour)
    if end.failure is not None:
        page = Page(colour, options.plain, width, verbose=True)
        print("\n".join(ended(page, end.test, end.failure)))
    return end.exit_code


def _trace(options: argparse.Namespace) -> int:
    """Show what the ranks of a part have called; return 0 once it is shown, whatever it is."""
    require_writable([options.json])
    live = _live(options)
    traced = tracing.trace(options, _is_sealed(), Data(_data_folder(options)), live.progress)
    live.close()
    data = trace_json(traced) if options.json else ""
    problem = unwritten(Path(options.json), data) if options.json not in (None, "-") else ""
    colour, width = _look(sys.stdout.isatty(), options)
    page = Page(colour, options.plain, width, verbose=False)
    print(data if options.json == "-" else trace_page(traced, page, options.limit, options.by_time))
    if problem:
        raise GraderError(problem)
    return 0


def _list(options: argparse.Namespace) -> int:
    print(catalogue.listing(options.prices, is_page=options.markdown), end="")
    return 0


def _template(options: argparse.Namespace) -> int:
    """Write a template: from the reference where it is installed, else the ready one."""
    found = assignments.load(options.assignment, SUITES)
    output: Path = options.output
    template.write(found.name, output, assignments.shared_support(found))
    again = "mount it at /submission and start the image again: that" if _is_sealed() else ""
    print(f"{output}: ready; {again or f'`grade check {output}`'} shows what is left to do")
    return 0


_COMMANDS = {
    "check": _check,
    "run": _run,
    "selftest": _selftest,
    "open": _open,
    "trace": _trace,
    "list": _list,
    "template": _template,
}
