"""What the command `grade` does: it and `commands` are all that prints."""

import _thread
import argparse
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader import __version__, journal, pipeline, versions
from grader.arguments import DEFAULT_IMAGE, Command, parser, selecting
from grader.commands import authors, looking
from grader.commands.context import (
    courses_of,
    data_folder,
    is_sealed,
    live_view,
    look,
    named_courses,
    say,
    say_visibly,
)
from grader.course import Course
from grader.courses import find_courses
from grader.data import Data
from grader.errors import GraderError, UsageError
from grader.intake import process as intake
from grader.intake import stream as intake_stream
from grader.journal import Journal
from grader.model import Report
from grader.report import json_report, junit, markdown, terminal
from grader.report.files import require_writable, unwritten
from grader.runner import rank_host
from grader.secret import course_secret, secret_beside_ranks
from grader.selftest import protections
from grader.settings import Settings
from grader.suite.inputs import PUBLIC_SECRET
from grader.suite.selection import Selection


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
        for course in find_courses(named_courses(options), requires_one=False).courses:
            print(f"course {course.name} {course.digest()}")
        print(f"lock {versions.lock_digest()}")
        for name, version in versions.packages().items():
            print(f"{name} {version}")
        sys.exit(0)


def _check(options: argparse.Namespace) -> int:
    require_writable([options.json, options.junit, options.markdown])
    live = live_view(options, verbose=options.verbose)
    sealed = is_sealed(os.environ)
    settings = Settings(
        courses=courses_of(options),
        named_courses=tuple(named_courses(options)),
        mode="container" if sealed else "local",
        sealed=sealed,
        secret=secret_beside_ranks(is_sealed=sealed),
        parts=options.part,
        selection=_selection(options),
        progress=live.progress,
        journal=Journal(on_finished=lambda each: live.finished(each.step.part, each.result)),
        data=Data(data_folder(options)),
        shows_hidden=options.show_hidden,
        rank_host=rank_host.from_environment(os.environ),
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
        progress=say_visibly,
        journal=Journal(resume, say),
        notes=resume.notes,
    )
    origin = str(options.submission or "the submission")
    submission = intake.unpack(found, origin, pipeline.intake_user(settings))
    return pipeline.grade_as(submission, options.assignment, settings)


def _run(options: argparse.Namespace) -> int:
    # Only `grade run` needs Docker's client, which takes a quarter of a second to import.
    from grader.container import sealed_grading

    folder = _named(options)
    require_writable([options.json, options.junit, options.markdown])
    live = live_view(options, verbose=options.verbose)
    # The container's client is no terminal: what it says comes in whole lines.
    secret = course_secret()
    data = sealed_grading.grade_in_container(
        folder,
        courses=courses_of(options),
        image=options.image,
        engine=options.engine,
        ranks_image=options.ranks_image if options.isolation == "two-containers" else None,
        assignment=options.assignment,
        options=[*selecting(options), "--", str(folder)],
        data=data_folder(options),
        on_progress=live.progress,
        on_finished=lambda each: live.finished(each.step.part, each.result),
        secret=b"" if secret == PUBLIC_SECRET else secret,
    )
    live.close()
    report = json_report.parse(data)
    return _finish(_as_named(report, options), options)


def _as_named(report: Report, options: argparse.Namespace) -> Report:
    """Return the report as its client sees it: what was named, and whether the image is of that.

    Raises GraderError for a mark by another course than those that --course names.
    """
    named = [Course.read(folder) for folder in named_courses(options)]
    if named and report.versions.course not in [course.name for course in named]:
        raise GraderError(
            f"the image {options.image!r} graded by its course {report.versions.course}, not by "
            f"{named[0].name}; name the image of that with --image, which `grade build` makes"
        )
    for course in named:
        found = (report.versions.course, report.versions.course_digest)
        if course.name == found[0] and course.digest() != found[1]:
            text = (
                f"the image {options.image!r} holds another version of the course {course.name} "
                f"than {course.root}: this mark is by the image's; `grade build` makes a new one"
            )
            report = replace(report, notes=(text, *report.notes))
    is_default = options.image == DEFAULT_IMAGE
    return replace(
        report,
        course_folder=next(map(str, named_courses(options)), ""),
        image="" if is_default else options.image,
    )


def _build(options: argparse.Namespace) -> int:
    from grader.commands import building  # as for `run`

    return building.build(options)


def _selftest(options: argparse.Namespace) -> int:
    """Try it in this container, else in one that is started as for a grading."""
    is_here = is_sealed(os.environ)
    if is_here:
        where = rank_host.from_environment(os.environ)
        found = pipeline.selftest(
            Settings(courses=courses_of(options), sealed=True, rank_host=where)
        )
    else:
        from grader.container import sealed_grading  # as for `run`

        ranks_image = options.ranks_image if options.isolation == "two-containers" else None
        data = sealed_grading.selftest_in_container(
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
        colour, width = look(sys.stdout.isatty(), options)
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


_COMMANDS = {
    "check": _check,
    "run": _run,
    "selftest": _selftest,
    "open": looking.open_tests,
    "trace": looking.show_trace,
    "list": authors.list_assignments,
    "template": authors.write_template,
    "new": authors.write_new,
    "verify": authors.verify_assignments,
    "build": _build,
}
