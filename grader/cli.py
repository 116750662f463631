"""What the command `grade` does: it and `commands` are all that prints.

A command imports what it needs when it is called: to grade, half a second's worth; to print a
version, next to nothing.
"""

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence

from grader.commands.arguments import HELP, Command, parser
from grader.commands.command_line import short_screen, spelled_out
from grader.commands.launcher_check import require_started_once
from grader.model.errors import UsageError


def run(arguments: Sequence[str], *, is_watched: bool = False) -> int:
    """Run one command; return its exit code: see docs/exit-codes.md.

    is_watched: a command that grades here does so in a child, which it watches. Raises GraderError,
    whose class has the exit code.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if not arguments:
        with contextlib.suppress(OSError):
            print(short_screen(HELP), file=sys.stderr, flush=True)
        return UsageError.exit_code
    try:
        whole = parser(_COMMANDS, _PrintVersions)
        options, unknown = whole.parse_known_args(spelled_out(arguments))
        if unknown:
            options.parser.refuse(unknown)
    except SystemExit as end:  # from here alone: what else ends a program is no mark
        return 0 if end.code in (0, None) else UsageError.exit_code
    require_started_once(os.environ)
    options.is_watched = is_watched
    command: Command = options.command
    return command(options)


class _PrintVersions(argparse.Action):
    def __call__(self, _: object, options: argparse.Namespace, *__: object) -> None:
        from grader import __version__
        from grader.commands.context import named_courses
        from grader.course import versions
        from grader.course.courses import find_courses

        print(f"grade {__version__}")
        print(f"engine {versions.engine_digest()}")
        for course in find_courses(named_courses(options), requires_one=False).courses:
            print(f"course {course.name} {course.digest()}")
        print(f"lock {versions.lock_digest()}")
        for name, version in versions.packages().items():
            print(f"{name} {version}")
        sys.exit(0)


def _check(options: argparse.Namespace) -> int:
    from grader.commands import checking

    return checking.check(options)


def _run(options: argparse.Namespace) -> int:
    from grader.commands import running

    return running.run(options)


def _observe(options: argparse.Namespace) -> int:
    from grader.commands import recordings

    return recordings.observe(options)


def _judge(options: argparse.Namespace) -> int:
    from grader.commands import recordings

    return recordings.judge(options)


def _class(options: argparse.Namespace) -> int:
    from grader.addons.classroom import class_command

    return class_command.grade_class(options)


def _selftest(options: argparse.Namespace) -> int:
    from grader.commands import selftesting

    return selftesting.selftest(options)


def _open(options: argparse.Namespace) -> int:
    from grader.addons.open_mode import opening

    return opening.open_tests(options)


def _trace(options: argparse.Namespace) -> int:
    from grader.addons.trace_views import trace_command

    return trace_command.show_trace(options)


def _study(options: argparse.Namespace) -> int:
    from grader.study import study_command

    return study_command.study(options)


def _list(options: argparse.Namespace) -> int:
    from grader.addons.authoring import authoring_commands as authors

    return authors.list_assignments(options)


def _template(options: argparse.Namespace) -> int:
    from grader.addons.authoring import authoring_commands as authors

    return authors.write_template(options)


def _new(options: argparse.Namespace) -> int:
    from grader.addons.authoring import authoring_commands as authors

    return authors.write_new(options)


def _verify(options: argparse.Namespace) -> int:
    from grader.addons.authoring.verification import verify

    return verify.verify_assignments(options)


def _build(options: argparse.Namespace) -> int:
    from grader.addons.authoring import build_command

    return build_command.build(options)


def _export(options: argparse.Namespace) -> int:
    from grader.commands import exporting

    return exporting.export(options)


_COMMANDS = {
    "check": _check,
    "run": _run,
    "observe": _observe,
    "judge": _judge,
    "class": _class,
    "selftest": _selftest,
    "open": _open,
    "trace": _trace,
    "study": _study,
    "list": _list,
    "template": _template,
    "new": _new,
    "verify": _verify,
    "build": _build,
    "export": _export,
}
