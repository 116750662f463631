"""What the command `grade` does; only this module and `commands` print.

A command imports what it needs when it is called: to grade, half a second's worth; to print a
version, next to nothing.
"""

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from grader.commands.arguments import HELP, parser
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
        whole = parser(_PrintVersions)
        options, unknown = whole.parse_known_args(spelled_out(arguments))
        if unknown:
            options.parser.refuse(unknown)
    except SystemExit as end:  # from here alone: what else ends a program is no mark
        return 0 if end.code in (0, None) else UsageError.exit_code
    require_started_once(os.environ)
    options.is_watched = is_watched
    module, _, name = PLACES[options.command].partition(":")
    return int(getattr(import_module(module), name)(options))


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


PLACES = {
    "check": "grader.commands.checking:check",
    "run": "grader.commands.running:run",
    "observe": "grader.commands.recordings:observe",
    "judge": "grader.commands.recordings:judge",
    "class": "grader.addons.classroom.class_command:grade_class",
    "selftest": "grader.commands.selftesting:selftest",
    "open": "grader.addons.open_mode.opening:open_tests",
    "trace": "grader.addons.trace_views.trace_command:show_trace",
    "study": "grader.study.study_command:study",
    "list": "grader.addons.authoring.authoring_commands:list_assignments",
    "template": "grader.addons.authoring.authoring_commands:write_template",
    "new": "grader.addons.authoring.authoring_commands:write_new",
    "verify": "grader.addons.authoring.verification.verify:verify_assignments",
    "build": "grader.addons.authoring.build_command:build",
    "export": "grader.commands.reporting:export",
}
"""Of each command: the module, and the function in it."""
