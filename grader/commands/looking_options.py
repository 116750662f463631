"""The options of the commands that look into a run: open and trace."""

import argparse
from pathlib import Path

from grader.commands import option_values


def add_open_options(command: argparse.ArgumentParser) -> None:
    """Add what `grade open` takes."""
    command.add_argument("submission", metavar="DIR", type=Path)
    command.add_argument(
        *("-n", "--ranks"),
        metavar="N",
        type=option_values.positive,
        default=4,
        help="start this number of ranks [4]",
    )
    command.add_argument(
        "-k", metavar="WORDS", help="run only checks with these words in their names"
    )
    command.add_argument(
        "-s", action="store_true", help="show what ranks print, even in checks that pass"
    )
    command.add_argument("-x", action="store_true", help="stop after the first failed check")
    command.add_argument("-v", action="store_true", help="show every check")
    command.add_argument("-q", action="store_true", help="show less")
    command.add_argument("--part", metavar="NAME", action="append", help="run only this part")
    command.add_argument(
        "--assignment", metavar="NAME", help="use this assignment [recognised by its files]"
    )
    command.add_argument("--plain", action="store_true", help="use no colour")
    command.add_argument(
        "options", metavar="-- OPTION", nargs="*", help="pass further options to pytest"
    )


def add_trace_options(command: argparse.ArgumentParser) -> None:
    """Add what `grade trace` takes."""
    command.add_argument("submission", metavar="DIR", type=Path)
    command.add_argument(
        "--part", metavar="NAME", help="show ranks of this part [the only one handed in]"
    )
    command.add_argument(
        "--assignment", metavar="NAME", help="use this assignment [recognised by its files]"
    )
    command.add_argument(
        *("-k", "--only"), metavar="CHECK", help="show this check [the first that starts ranks]"
    )
    command.add_argument(
        *("-n", "--ranks"),
        metavar="N",
        type=option_values.positive,
        help="run only on this number of ranks",
    )
    command.add_argument(
        "--case",
        metavar="N",
        type=option_values.positive,
        help="show this case [the first that fails or makes calls]",
    )
    command.add_argument(
        "--recording",
        metavar="FILE",
        type=Path,
        help="show this recording [that of the last `grade check`]",
    )
    add_seed_option(command)
    command.add_argument(
        "--limit",
        metavar="N",
        type=option_values.limit,
        default=40,
        help="show N rows of each rank [40], or all with 0",
    )
    add_data_option(command)
    command.add_argument(
        "--json", metavar="FILE", help="write the trace as JSON; - prints only that"
    )
    command.add_argument(
        "--perfetto", metavar="FILE", type=Path, help="write the timeline for ui.perfetto.dev"
    )
    command.add_argument("--plain", action="store_true", help="use no colour and no line drawing")
    command.set_defaults(verbose=False)


def add_seed_option(command: argparse.ArgumentParser) -> None:
    """Add the option that names an earlier grading whose inputs are taken again."""
    command.add_argument(
        "--seed-of",
        metavar="REPORT",
        type=Path,
        help="repeat the inputs of a report written by --full-json",
    )


def add_data_option(command: argparse.ArgumentParser) -> None:
    """Add --data, which every command has that makes inputs."""
    command.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        help="read MNIST or CIFAR-10 from here [GRADER_DATA, or small digits]",
    )
