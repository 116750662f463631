"""The options of the command `grade`."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from grader.commands import class_options, looking_options, option_values
from grader.commands.command_line import Parser, add_commands, overview

Command = Callable[[argparse.Namespace], int]

PLATFORMS = ("artemis", "classroom50", "github", "gitlab", "gradescope", "prairielearn")
"""What --export is there for; grader/report/export/formats.py has these, and the other formats."""

DEFAULT_IMAGE = "grade"
DEFAULT_ENGINE_IMAGE = "grade-engine"
"""The images of `make image`, where options name no others."""

HELP = {
    "Students": {
        "check": "check a folder on this machine",
        "open": "run checks with your prints and breakpoints",
        "trace": "show every MPI and torch.distributed call of a check",
        "template": "write an assignment's starter files",
        "study": "take measurements, and draw figures for your report",
    },
    "Courses": {
        "run": "grade a folder in a sealed container",
        "class": "grade a whole class",
        "selftest": "attack the container, and report what got through",
        "build": "build a course's images, or its students' installation",
        "export": "write a saved report for a platform",
        "observe": "record what the ranks of a submission do",
        "judge": "judge a recording without starting ranks",
    },
    "Authors": {
        "new": "write a new assignment that is ready to grade",
        "verify": "check that assignments grade correctly",
        "list": "list the assignments, their parts and prices",
    },
}
"""What each command does, by who needs it."""


def parser(
    commands_by_name: Mapping[str, Command], print_versions: type[argparse.Action]
) -> argparse.ArgumentParser:
    """Return the parser of `grade`; what it finds has the command to call as `command`.

    commands_by_name: check, run, observe, judge, class, selftest, open, trace, study, list,
    template, new, verify, build and export.
    print_versions: what --version does.
    """
    whole = Parser(prog="grade", usage="grade COMMAND ...", description=overview(HELP))
    _add_course_option(whole, "course_before")
    whole.add_argument(
        "-V", "--version", action=print_versions, nargs=0, help="print versions and digests"
    )
    commands = add_commands(whole, HELP)
    check = commands["check"]
    check.add_argument("--from-stdin", action="store_true", help=argparse.SUPPRESS)
    check.add_argument("--send-recording", action="store_true", help=argparse.SUPPRESS)
    check.add_argument(
        "--no-recording",
        action="store_true",
        help="keep no recording for `grade trace`",
    )
    run, selftest = commands["run"], commands["selftest"]
    selftest.add_argument("--json", choices=["-"], help="print the result as JSON")
    selftest.add_argument("--from-stdin", action="store_true", help=argparse.SUPPRESS)
    whole_class = commands["class"]
    class_options.add_class_options(whole_class)
    for command in (run, selftest, whole_class):
        _add_container_options(command)
    _add_limit_options(run)
    observe, judge = commands["observe"], commands["judge"]
    for command in (check, run, observe, judge):
        _add_selecting_options(command)
        looking_options.add_seed_option(command)
    for command in (check, run, judge):
        _add_report_options(command)
    observe.set_defaults(show_hidden=False)
    _add_verbosity_options(observe)
    for command in (observe, judge):
        command.add_argument(
            "--recording",
            metavar="FILE",
            type=Path,
            required=True,
            help="observe writes this file, judge reads it",
        )
    for command in (check, run):
        command.add_argument(
            "--recording",
            metavar="FILE",
            type=Path,
            help="also write a recording for `grade judge`",
        )
    judge.add_argument("--require-mark", action="store_true", help=argparse.SUPPRESS)
    judge.add_argument(
        "--observer",
        metavar="DIGEST",
        help="judge recordings of another version; gives no mark",
    )
    looking_options.add_open_options(commands["open"])
    looking_options.add_trace_options(commands["trace"])
    _add_study_options(commands["study"])
    listing = commands["list"]
    listing.add_argument("--markdown", action="store_true", help="print it as a page")
    listing.add_argument(
        "--prices", metavar="ASSIGNMENT", help="print what each check asks for and is worth"
    )
    write = commands["template"]
    write.add_argument("assignment", metavar="ASSIGNMENT")
    write.add_argument("output", metavar="FOLDER", type=Path)
    write.add_argument(
        "--part", metavar="NAME", action="append", help="write the handout of this part only"
    )
    new = commands["new"]
    new.add_argument(
        "name", metavar="NAME", help="choose a name like that of a Python package: halo_exchange"
    )
    build = commands["build"]
    build.add_argument("--tag", metavar="NAME", help="give the image this name [the course's name]")
    build.add_argument(
        "--from",
        dest="base",
        metavar="IMAGE",
        default=DEFAULT_ENGINE_IMAGE,
        help=f"build on this engine image [{DEFAULT_ENGINE_IMAGE}]",
    )
    build.add_argument(
        "--files",
        metavar="FOLDER",
        type=Path,
        help="write the images' files, for your own Dockerfile",
    )
    build.add_argument(
        "--installation",
        metavar="FOLDER",
        type=Path,
        help="write what students install with pip, not images",
    )
    build.add_argument(
        "--wheels",
        metavar="FOLDER",
        type=Path,
        default=Path("dist"),
        help="with --installation: take the engine's wheels from here [dist]",
    )
    build.add_argument(
        "--url",
        type=option_values.address,
        help="with --installation: give the address it is published at",
    )
    export = commands["export"]
    export.add_argument("format", metavar="FORMAT", help=", ".join(PLATFORMS) + ", html, ...")
    export.add_argument(
        "report", metavar="REPORT", type=Path, help="convert this report, which --json wrote"
    )
    export.add_argument(
        "file", metavar="FILE", type=Path, nargs="?", help="write to this file [standard output]"
    )
    export.add_argument(
        "--show-hidden", action="store_true", help="show hidden checks (courses only)"
    )
    verify = commands["verify"]
    verify.add_argument(
        "assignments",
        metavar="ASSIGNMENT",
        nargs="*",
        help="check these assignments [all of the course]",
    )
    extent = verify.add_mutually_exclusive_group()
    extent.add_argument(
        "--quick", action="store_true", help="start no ranks: takes seconds, not minutes"
    )
    extent.add_argument(
        "--mutants", action="store_true", help="also grade every small mistake in the references"
    )
    for name, command in commands.items():
        _add_course_option(command)
        command.set_defaults(command=commands_by_name[name], parser=command)
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
        help="add a course to the bundled one [GRADER_COURSE]",
    )


def _add_container_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--image",
        default=DEFAULT_IMAGE,
        help=f"grade in this image [{DEFAULT_IMAGE}]",
    )


def _add_limit_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--cpus",
        metavar="LIST",
        type=option_values.processors,
        help="limit the container to processors such as 0-3 [all]",
    )
    command.add_argument(
        "--memory",
        metavar="SIZE",
        type=option_values.num_bytes,
        help="limit the container's memory [4GiB]",
    )


def _add_study_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("assignment", metavar="ASSIGNMENT")
    command.add_argument(
        "--submission",
        metavar="DIR",
        type=Path,
        help="measure the code of this folder [the reference]",
    )
    command.add_argument(
        "--out", metavar="DIR", type=Path, help="write to this folder [study-ASSIGNMENT]"
    )
    extent = command.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="take at most 2 minutes [10]")
    extent.add_argument(
        "--full", action="store_true", help="measure every repetition of every point"
    )
    looking_options.add_data_option(command)
    command.add_argument("--plain", action="store_true", help="show progress line by line")


def _add_selecting_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "submission",
        metavar="DIR",
        type=Path,
        nargs="?",
        help="grade this folder, zip or tar [the current folder]",
    )
    command.add_argument(
        "--assignment", metavar="NAME", help="grade as this assignment [recognised by its files]"
    )
    command.add_argument("--part", metavar="NAME", action="append", help="grade only this part")
    command.add_argument(
        *("-k", "--only"),
        metavar="CHECK",
        action="append",
        help="run only this check and those that it needs",
    )
    command.add_argument(
        *("-n", "--ranks"),
        metavar="N",
        type=option_values.positive,
        help="run only on this number of ranks",
    )
    command.add_argument(
        "-x", "--fail-fast", action="store_true", help="stop after the first failed check"
    )
    looking_options.add_data_option(command)
    command.add_argument("--plain", action="store_true", help="use no colour and no line drawing")


def _add_report_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--json", metavar="FILE", help="write the report as JSON; with -, print nothing else"
    )
    command.add_argument(
        "--report",
        metavar="FILE",
        type=option_values.report_file,
        action="append",
        default=[],
        help="write the report in the format of the suffix (.html, .json, .md, .xml)",
    )
    command.add_argument(
        "--export",
        metavar="FORMAT=FILE",
        type=option_values.export,
        action="append",
        default=[],
        help="write the report for a platform: " + ", ".join(PLATFORMS),
    )
    command.add_argument(
        "--full-json",
        metavar="FILE",
        type=option_values.output_file,
        help="write the full report, including what students do not see",
    )
    command.add_argument(
        "--since", metavar="REPORT", type=Path, help="compare with an earlier JSON report"
    )
    command.add_argument(
        "--min-score",
        metavar="N",
        type=option_values.score,
        help="exit 0 if the score is at least N, otherwise 1",
    )
    _add_verbosity_options(command)
    command.add_argument(
        "--show-hidden", action="store_true", help="show hidden checks (courses only)"
    )


def _add_verbosity_options(command: argparse.ArgumentParser) -> None:
    how_much = command.add_mutually_exclusive_group()
    how_much.add_argument("-v", "--verbose", action="store_true", help="show every check")
    how_much.add_argument(
        "-q", "--quiet", action="store_true", help="show one line per part that lost points"
    )
