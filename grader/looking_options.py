"""The options of the commands that look into a run: open and trace."""

import argparse
from pathlib import Path

from grader import option_values


def add_open_options(command: argparse.ArgumentParser) -> None:
    """Add what `grade open` takes."""
    command.add_argument("submission", metavar="DIR", type=Path)
    command.add_argument(
        "-n",
        dest="ranks",
        metavar="N",
        type=option_values.positive,
        default=4,
        help="ranks (default: 4)",
    )
    command.add_argument("-k", metavar="WORDS", help="only tests whose names have these words")
    command.add_argument(
        "-s", action="store_true", help="show what ranks print, also of what holds"
    )
    command.add_argument("-x", action="store_true", help="end after the first test that fails")
    command.add_argument("--part", metavar="NAME", action="append", help="only this part")
    command.add_argument("--assignment", metavar="NAME", help="default: found out from the files")
    command.add_argument("--plain", action="store_true", help="no colour")
    command.add_argument("options", metavar="-- OPTION", nargs="*", help="further ones of pytest")


def add_trace_options(command: argparse.ArgumentParser) -> None:
    """Add what `grade trace` takes."""
    command.add_argument("submission", metavar="DIR", type=Path)
    command.add_argument(
        "--part", metavar="NAME", help="whose ranks to see (default: the only one handed in)"
    )
    command.add_argument("--assignment", metavar="NAME", help="default: found out from the files")
    command.add_argument(
        "--only", metavar="TEST", help="what this test starts (default: the first with ranks)"
    )
    command.add_argument(
        "--ranks",
        metavar="N",
        type=option_values.positive,
        help="run only on so many ranks; without --only: all tests that do",
    )
    command.add_argument(
        "--case",
        metavar="N",
        type=option_values.positive,
        help="the one to show (default: the first that fails, else the first with calls)",
    )
    command.add_argument(
        "--recording",
        metavar="FILE",
        type=Path,
        help="show what this one holds (default: that of the last `grade check` of the folder)",
    )
    add_seed_option(command)
    command.add_argument(
        "--limit",
        metavar="N",
        type=option_values.limit,
        default=40,
        help="rows of each rank (default: 40); 0 for all calls, repetitions too",
    )
    add_data_option(command)
    command.add_argument("--json", metavar="FILE", help="write it as JSON; - prints that alone")
    command.add_argument(
        "--perfetto", metavar="FILE", type=Path, help="write the timeline for ui.perfetto.dev"
    )
    command.add_argument("--plain", action="store_true", help="no colour, no line drawing")
    command.set_defaults(verbose=False)


def add_seed_option(command: argparse.ArgumentParser) -> None:
    """Add the option that names an earlier grading whose inputs are taken again."""
    command.add_argument(
        "--seed-of",
        metavar="REPORT",
        type=Path,
        help="take the inputs that this --full-json report of a sealed grading had",
    )


def add_data_option(command: argparse.ArgumentParser) -> None:
    """Add --data, which every command has that makes inputs."""
    command.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        help="holds the files of MNIST or CIFAR-10 (default: GRADER_DATA, else bundled digits)",
    )
