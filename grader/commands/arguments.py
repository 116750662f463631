"""The options of the command `grade`: what each command does, and what it takes."""

import argparse
from argparse import SUPPRESS
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from grader.commands.command_line import Parser, add_commands, overview
from grader.commands.option_values import (
    address,
    export,
    num_bytes,
    output_file,
    positive,
    processors,
    report_file,
    score,
    whole,
)

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
        "build": "build a course's images, or an installation for students",
        "export": "convert a saved report for a platform",
        "observe": "record what the ranks of a submission do",
        "judge": "judge a recording without starting ranks",
    },
    "Authors": {
        "new": "write a new assignment that is ready to grade",
        "verify": "check that assignments grade correctly",
        "list": "list the assignments with their parts and points",
    },
}
"""What each command does, by who needs it."""


class _Option(NamedTuple):
    names: list[str]
    settings: dict[str, Any]
    """As argparse has them."""


def _flag(names: str, help: str) -> _Option:
    return _Option(names.split(), {"action": "store_true", "help": help})


def _value(
    names: str, metavar: str, help: str | None = None, kind: Callable[[str], Any] = str, **more: Any
) -> _Option:
    """Return an option with a value, or what is given without a name."""
    return _Option(names.split(), {"metavar": metavar, "help": help, "type": kind, **more})


def _values(
    names: str, metavar: str, help: str, kind: Callable[[str], Any] = str, **more: Any
) -> _Option:
    """Return an option that may be given several times."""
    return _value(names, metavar, help, kind, action="append", **more)


def _course(dest: str) -> _Option:
    """Return --course, which counts before the name of a command and after it."""
    help = "add a course to the bundled one [GRADER_COURSE]"
    return _values("--course", "FOLDER", help, Path, dest=dest, default=[])


_ASSIGNMENT = _value("assignment", "ASSIGNMENT")
_DIR = _value("submission", "DIR", None, Path)
_DATA_HELP = "read MNIST or CIFAR-10 from this folder [GRADER_DATA, or the bundled digits]"
_DATA = _value("--data", "FOLDER", _DATA_HELP, Path)
_SEED = _value("--seed-of", "REPORT", "reuse the inputs of a report written by --full-json", Path)
_RANKS = _value("-n --ranks", "N", "run only on this number of ranks", positive)
_PLAIN = _flag("--plain", "use no colour and no line drawing")
_SHOW_HIDDEN = _flag("--show-hidden", "show hidden checks (courses only)")
_IMAGE_HELP = f"grade in this image [{DEFAULT_IMAGE}]"
_IMAGE = _value("--image", "IMAGE", _IMAGE_HELP, default=DEFAULT_IMAGE)
_FROM_STDIN = _flag("--from-stdin", SUPPRESS)
_RECORDED = "use this file for the recording"
_RECORDING = _value("--recording", "FILE", _RECORDED, Path, required=True)
_ALSO_RECORDING = _value("--recording", "FILE", "also write a recording for `grade judge`", Path)
_HOW_MUCH = [
    _flag("-v --verbose", "show every check"),
    _flag("-q --quiet", "show one line per part that lost points"),
]
_SELECTING = (
    _value(
        "submission", "DIR", "grade this folder, zip, or tar [the current folder]", Path, nargs="?"
    ),
    _value("--assignment", "NAME", "grade as this assignment [recognised by its files]"),
    _values("--part", "NAME", "grade only this part"),
    _values("-k --only", "CHECK", "run only this check and those that it needs"),
    _RANKS,
    _flag("-x --fail-fast", "stop after the first failed check"),
    *(_DATA, _PLAIN, _SEED),
)
_EXPORTING = "write the report for a platform: " + ", ".join(PLATFORMS)
_REPORT = (
    _value("--json", "FILE", "write the report as JSON; - prints it and nothing else"),
    _values(
        "--report",
        "FILE",
        "write the report; the suffix sets its format (.html, .json, .md, .xml)",
        report_file,
        default=[],
    ),
    _values("--export", "FORMAT=FILE", _EXPORTING, export, default=[]),
    _value(
        "--full-json",
        "FILE",
        "write the full report, including what students do not see",
        output_file,
    ),
    _value("--since", "REPORT", "compare with an earlier JSON report", Path),
    _value("--min-score", "N", "exit 0 if the score is at least N, otherwise 1", score),
    *(_HOW_MUCH, _SHOW_HIDDEN),
)

_TAKEN: Mapping[str, tuple[_Option | list[_Option], ...]] = {
    "check": (
        *(_FROM_STDIN, _flag("--send-recording", SUPPRESS)),
        _flag("--no-recording", "keep no recording for `grade trace`"),
        *(*_SELECTING, *_REPORT, _ALSO_RECORDING),
    ),
    "open": (
        _DIR,
        _value("-n --ranks", "N", "start this number of ranks [4]", positive, default=4),
        _value("-k", "EXPRESSION", "run only checks whose names match EXPRESSION, as in pytest"),
        _flag("-s", "show what ranks print, even in checks that pass"),
        _flag("-x", "stop after the first failed check"),
        _flag("-v", "show every check"),
        _flag("-q", "show less"),
        _values("--part", "NAME", "run only this part"),
        _value("--assignment", "NAME", "use this assignment [recognised by its files]"),
        _flag("--plain", "use no colour"),
        _value("options", "-- OPTION", "pass further options to pytest", nargs="*"),
    ),
    "trace": (
        _DIR,
        _value("--part", "NAME", "show the ranks of this part [the only one handed in]"),
        _value("--assignment", "NAME", "use this assignment [recognised by its files]"),
        _value("-k --only", "CHECK", "show this check [the first that starts ranks]"),
        _RANKS,
        _value("--case", "N", "show this case [the first that fails or makes calls]", positive),
        _value("--recording", "FILE", "show this recording [from the last `grade check`]", Path),
        _SEED,
        _value("--limit", "N", "show N rows per rank; 0 shows all [40]", whole, default=40),
        _DATA,
        _value("--json", "FILE", "write the trace as JSON; - prints it and nothing else"),
        _value("--perfetto", "FILE", "write the timeline for ui.perfetto.dev", Path),
        _PLAIN,
    ),
    "template": (
        *(_ASSIGNMENT, _value("output", "FOLDER", None, Path)),
        _values("--part", "NAME", "write the handout of this part only"),
    ),
    "study": (
        _ASSIGNMENT,
        _value("--submission", "DIR", "measure the code in this folder [the reference]", Path),
        _value("--out", "DIR", "write to this folder [study-ASSIGNMENT]", Path),
        [
            _flag("--quick", "take at most 2 minutes [10]"),
            _flag("--full", "measure every data point with all its repetitions"),
        ],
        *(_DATA, _flag("--plain", "show progress line by line")),
    ),
    "run": (
        _IMAGE,
        _value(
            "--cpus",
            "LIST",
            "limit the container to these processors, such as 0-3 [all]",
            processors,
        ),
        _value("--memory", "SIZE", "limit the container's memory [4GiB]", num_bytes),
        *(*_SELECTING, *_REPORT, _ALSO_RECORDING),
    ),
    "class": (
        _value("folder", "DIR", "grade this folder of hand-ins, as the platform delivers it", Path),
        _value("--out", "DIR", "write the results here [graded-DIR]", Path),
        _value(
            "--config", "FILE", "read the class settings from this file [class.toml in DIR]", Path
        ),
        _value("--assignment", "NAME", "grade as this assignment [named in class.toml]"),
        _value("--jobs", "N", "grade at most N hand-ins at once [as the cores allow]", positive),
        _value("--cores", "N", "reserve N cores for each grading [4]", positive, default=4),
        _value(
            "--memory",
            "SIZE",
            "limit the memory of each grading [4GiB]",
            num_bytes,
            default=4 << 30,
        ),
        _value("--cluster", "FILE", "grade on the cluster described in this TOML file", Path),
        _flag("--unsealed", "grade without containers, on a cluster without Docker"),
        _flag("--regrade", "grade again with the current versions, and show changes"),
        _flag("--judge-again", "grade again from recordings, without containers or ranks"),
        _flag("--publish", "with --regrade or --judge-again: replace changed marks"),
        _value("--fill", "FILE", "fill in Canvas's gradebook or Moodle's grading worksheet", Path),
        _value("--column", "NAME", "with --fill: fill this column of the Canvas gradebook"),
        _flag("--sheets", "write a sheet for grading each submission by hand"),
        _value("--forget", "ID", "remove everything about this student for good"),
        *(_DATA, _IMAGE),
    ),
    "selftest": (
        _value("--json", "-", "print the result as JSON", choices=["-"]),
        *(_FROM_STDIN, _IMAGE),
    ),
    "build": (
        _value("--tag", "NAME", "give the image this name [the course's name]"),
        _value(
            "--from",
            "IMAGE",
            f"build on this engine image [{DEFAULT_ENGINE_IMAGE}]",
            dest="base",
            default=DEFAULT_ENGINE_IMAGE,
        ),
        _value("--files", "FOLDER", "write the images' files, for your own Dockerfile", Path),
        _value(
            "--installation",
            "FOLDER",
            "write the students' pip installation, instead of images",
            Path,
        ),
        _value(
            "--wheels",
            "FOLDER",
            "with --installation: take the engine's wheels from this folder [dist]",
            Path,
            default=Path("dist"),
        ),
        _value(
            "--url", "URL", "with --installation: give the URL of the published folder", address
        ),
    ),
    "export": (
        _value("format", "FORMAT", ", ".join(PLATFORMS) + ", html, ..."),
        _value("report", "REPORT", "convert this report, which --json wrote", Path),
        _value("file", "FILE", "write to this file [standard output]", Path, nargs="?"),
        _SHOW_HIDDEN,
    ),
    "observe": (*_SELECTING, _HOW_MUCH, _RECORDING),
    "judge": (
        *(*_SELECTING, *_REPORT, _RECORDING, _flag("--require-mark", SUPPRESS)),
        _value("--observer", "DIGEST", "judge recordings made by this observer, but give no mark"),
    ),
    "new": (_value("name", "NAME", "choose a valid Python package name, such as halo_exchange"),),
    "verify": (
        _value(
            "assignments", "ASSIGNMENT", "check these assignments [all of the course]", nargs="*"
        ),
        [
            _flag("--quick", "start no ranks: takes seconds, not minutes"),
            _flag("--mutants", "also grade the references with small mistakes added"),
        ],
        _flag("--plain", "show no status line"),
    ),
    "list": (
        _value("assignments", "ASSIGNMENT", "list only these assignments [all]", nargs="*"),
        _flag("--markdown", "print the list as a Markdown page"),
        _value("--prices", "ASSIGNMENT", "print each check's requirement and points"),
    ),
}
"""What each command takes beside --course; of a list, one at most."""


def parser(print_versions: type[argparse.Action]) -> argparse.ArgumentParser:
    """Return the parser of `grade`; print_versions: what --version does."""
    whole = Parser(prog="grade", usage="grade COMMAND ...", description=overview(HELP))
    _add(whole, _course("course_before"))
    whole.add_argument(
        "-V", "--version", action=print_versions, nargs=0, help="print versions and digests"
    )
    for name, command in add_commands(whole, HELP).items():
        for option in (*_TAKEN[name], _course("course")):
            if isinstance(option, list):
                group = command.add_mutually_exclusive_group()
                for each in option:
                    _add(group, each)
            else:
                _add(command, option)
        command.set_defaults(command=name, parser=command)
        if name == "observe":  # which writes no report
            command.set_defaults(show_hidden=False)
    return whole


def _add(command: Any, option: _Option) -> None:
    command.add_argument(*option.names, **option.settings)


def selecting(options: argparse.Namespace) -> list[str]:
    """Return the options that say what to grade, for the `grade check` in a container."""
    found = []
    for option, values in (("--part", options.part), ("--only", options.only)):
        found += [each for value in values or () for each in (option, value)]
    found += [] if options.ranks is None else ["--ranks", str(options.ranks)]
    found += ["--fail-fast"] if options.fail_fast else []
    return found + (["--show-hidden"] if options.show_hidden else [])
