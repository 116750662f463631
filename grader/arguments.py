"""The options of the command `grade`."""

import argparse
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grader import class_options, looking_options, option_values

Command = Callable[[argparse.Namespace], int]

PLATFORMS = ("artemis", "classroom50", "github", "gitlab", "gradescope", "prairielearn")
"""What --export is there for; grader/report/export/formats.py has these, and the other formats."""

DEFAULT_IMAGE = "grade"
DEFAULT_ENGINE_IMAGE = "grade-engine"
"""The images of `make image`, where options name no others."""


class _Parser(argparse.ArgumentParser):
    """Keeps its exit code where nobody can be told: argparse of Python 3.11.2 raises then."""

    def _print_message(self, message: str, file: Any = None) -> None:
        with contextlib.suppress(OSError):
            super()._print_message(message, file)


def parser(
    commands_by_name: Mapping[str, Command], print_versions: type[argparse.Action]
) -> argparse.ArgumentParser:
    """Return the parser of `grade`; what it finds has the command to call as `command`.

    commands_by_name: check, run, observe, judge, class, selftest, open, trace, study, list,
    template, new, verify, build and export.
    print_versions: what --version does.
    """
    whole = _Parser(prog="grade", description="Mark a distributed machine-learning assignment.")
    _add_course_option(whole, "course_before")
    whole.add_argument("--version", action=print_versions, nargs=0, help="what would grade")
    commands = whole.add_subparsers(title="commands", required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="grade a folder here, without Docker")
    check.add_argument("--from-stdin", action="store_true", help=argparse.SUPPRESS)
    check.add_argument("--send-recording", action="store_true", help=argparse.SUPPRESS)
    check.add_argument(
        "--no-recording",
        action="store_true",
        help="do not keep what the ranks did, which `grade trace` would look at",
    )
    run = commands.add_parser("run", help="grade a folder in the container, sealed")
    selftest = commands.add_parser(
        "selftest", help="try what no submission must be able to do in the container"
    )
    selftest.add_argument("--json", choices=["-"], help="print it as JSON")
    selftest.add_argument("--from-stdin", action="store_true", help=argparse.SUPPRESS)
    whole_class = commands.add_parser("class", help="grade what a whole class has handed in")
    class_options.add_class_options(whole_class)
    for command in (run, selftest, whole_class):
        _add_container_options(command)
    _add_limit_options(run)
    observe = commands.add_parser(
        "observe", help="record what the ranks of a submission do, to be judged later"
    )
    judge = commands.add_parser("judge", help="judge a recorded submission without any rank")
    for command in (check, run, observe, judge):
        _add_selecting_options(command)
        looking_options.add_seed_option(command)
    for command in (check, run, judge):
        _add_report_options(command)
    observe.set_defaults(show_hidden=False, verbose=False)
    for command in (observe, judge):
        command.add_argument(
            "--recording",
            metavar="FILE",
            type=Path,
            required=True,
            help="what `grade observe` writes and `grade judge` reads",
        )
    for command in (check, run):
        command.add_argument(
            "--recording", metavar="FILE", type=Path, help="write it for `grade judge`, too"
        )
    judge.add_argument("--require-mark", action="store_true", help=argparse.SUPPRESS)
    judge.add_argument(
        "--observer",
        metavar="DIGEST",
        help="also judge what this other version of the observing side has recorded; no mark",
    )
    looking_options.add_open_options(
        commands.add_parser("open", help="run the tests in the open, to debug with")
    )
    looking_options.add_trace_options(
        commands.add_parser("trace", help="show every MPI and torch.distributed call of a case")
    )
    _add_study_options(
        commands.add_parser(
            "study",
            help="measure and draw the figures and tables of a sheet, here, as who you are",
            description="Runs the code here, as who you are and without a sandbox: no Docker, no "
            "mark. What is measured stays in the folder; the same command goes on from there.",
        )
    )
    listing = commands.add_parser("list", help="list the assignments and their parts")
    listing.add_argument("--markdown", action="store_true", help="the page docs/assignments.md")
    listing.add_argument(
        "--prices", metavar="ASSIGNMENT", help="what each test of an assignment asks and pays"
    )
    write = commands.add_parser("template", help="write the files a student starts from")
    write.add_argument("assignment", metavar="ASSIGNMENT")
    write.add_argument("output", metavar="FOLDER", type=Path)
    write.add_argument(
        "--part", metavar="NAME", action="append", help="let the handout be of this part"
    )
    new = commands.add_parser("new", help="write a new assignment, which grades at once")
    new.add_argument("name", metavar="NAME", help="as of a Python package: halo_exchange")
    build = commands.add_parser(
        "build", help="build the images of a course, or its students' installation"
    )
    build.add_argument("--tag", metavar="NAME", help="of the image (default: the course's name)")
    build.add_argument(
        "--from",
        dest="base",
        metavar="IMAGE",
        default=DEFAULT_ENGINE_IMAGE,
        help=f"the engine's image (default: {DEFAULT_ENGINE_IMAGE})",
    )
    build.add_argument(
        "--files",
        metavar="FOLDER",
        type=Path,
        help="write what the images would hold, for a Dockerfile of your own, in place of images",
    )
    build.add_argument(
        "--installation",
        metavar="FOLDER",
        type=Path,
        help="write what students install with pip, in place of images",
    )
    build.add_argument(
        "--wheels",
        metavar="FOLDER",
        type=Path,
        default=Path("dist"),
        help="with --installation: holds the engine's wheels (default: dist)",
    )
    build.add_argument(
        "--url",
        type=option_values.address,
        help="with --installation: where its folder is going to be published",
    )
    export = commands.add_parser("export", help="write a saved report for a platform")
    export.add_argument("format", metavar="FORMAT", help=", ".join(PLATFORMS) + ", html, ...")
    export.add_argument("report", metavar="REPORT", type=Path, help="what --json has written")
    export.add_argument(
        "file", metavar="FILE", type=Path, nargs="?", help="default: standard output"
    )
    export.add_argument(
        "--show-hidden", action="store_true", help="tell all that the report has; for the course"
    )
    verify = commands.add_parser("verify", help="check assignments as their authors mean them")
    verify.add_argument(
        "assignments", metavar="ASSIGNMENT", nargs="*", help="default: all of the course"
    )
    extent = verify.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="start no ranks: seconds, not minutes")
    extent.add_argument(
        "--mutants", action="store_true", help="also grade every small mistake in the references"
    )
    for name, command in commands.choices.items():
        _add_course_option(command)
        command.set_defaults(command=commands_by_name[name])
    return whole


def selecting(options: argparse.Namespace) -> list[str]:
    """Return the options that say what to grade, for the `grade check` in a container."""
    found = []
    for option, values in (("--part", options.part), ("--only", options.only)):
        found += [each for value in values or () for each in (option, value)]
    found += [] if options.ranks is None else ["--ranks", str(options.ranks)]
    found += ["--fail-fast"] if options.fail_fast else []
    return found + (["--show-hidden"] if options.show_hidden else [])


def _add_course_option(command: argparse.ArgumentParser, name: str = "course") -> None:
    """Add --course, which counts before the name of a command and after it."""
    command.add_argument(
        "--course",
        dest=name,
        metavar="FOLDER",
        type=Path,
        action="append",
        default=[],
        help="a course to grade by, beside the bundled one (default: GRADER_COURSE)",
    )


def _add_container_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--image",
        default=DEFAULT_IMAGE,
        help=f"the image to grade in (default: {DEFAULT_IMAGE})",
    )


def _add_limit_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--cpus",
        metavar="LIST",
        type=option_values.processors,
        help="the processors of the container, such as 0-3 (default: all)",
    )
    command.add_argument(
        "--memory",
        metavar="SIZE",
        type=option_values.num_bytes,
        help="of the container, such as 4GiB, which is the default",
    )


def _add_study_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("assignment", metavar="ASSIGNMENT")
    command.add_argument(
        "--submission", metavar="DIR", type=Path, help="whose code (default: the reference)"
    )
    command.add_argument(
        "--out", metavar="DIR", type=Path, help="where to write (default: study-ASSIGNMENT)"
    )
    extent = command.add_mutually_exclusive_group()
    extent.add_argument(
        "--quick", action="store_true", help="at most 2 minutes (default: at most 10)"
    )
    extent.add_argument(
        "--full", action="store_true", help="every point with all repetitions, however long"
    )
    looking_options.add_data_option(command)
    command.add_argument("--plain", action="store_true", help="progress line by line")


def _add_selecting_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("submission", metavar="DIR", type=Path, nargs="?")
    command.add_argument("--assignment", metavar="NAME", help="default: found out from the files")
    command.add_argument("--part", metavar="NAME", action="append", help="grade only this part")
    command.add_argument(
        "--only", metavar="TEST", action="append", help="run only this test and what it requires"
    )
    command.add_argument(
        "--ranks", metavar="N", type=option_values.positive, help="run only on so many ranks"
    )
    command.add_argument(
        "--fail-fast", action="store_true", help="run nothing after the first test that fails"
    )
    looking_options.add_data_option(command)
    command.add_argument("--plain", action="store_true", help="no colour, no line drawing")


def _add_report_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", metavar="FILE", help="write the report; - prints it alone")
    command.add_argument(
        "--report",
        metavar="FILE",
        type=option_values.report_file,
        action="append",
        default=[],
        help="write it by suffix: .html a page, .md a CI summary, .xml JUnit, .json",
    )
    command.add_argument(
        "--export",
        metavar="FORMAT=FILE",
        type=option_values.export,
        action="append",
        default=[],
        help="write it for a platform: " + ", ".join(PLATFORMS),
    )
    command.add_argument(
        "--full-json",
        metavar="FILE",
        type=option_values.output_file,
        help="write all of it, also what students miss",
    )
    command.add_argument(
        "--since", metavar="REPORT", type=Path, help="say what got better and what broke since then"
    )
    command.add_argument(
        "--min-score",
        metavar="N",
        type=option_values.score,
        help="exit 0 from this score on, 1 below it",
    )
    command.add_argument("--verbose", action="store_true", help="show every test")
    command.add_argument(
        "--show-hidden", action="store_true", help="tell all about hidden tests; for the course"
    )
