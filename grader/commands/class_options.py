"""The options of the command that grades a class."""

import argparse
from pathlib import Path

from grader.commands import looking_options, option_values

_CORES = 4
_MEMORY_NUM_BYTES = 4 << 30


def add_class_options(command: argparse.ArgumentParser) -> None:
    """Add what `grade class` takes, but for the options of containers."""
    command.add_argument(
        "folder", metavar="DIR", type=Path, help="the hand-ins as the platform delivers them"
    )
    command.add_argument(
        "--out", metavar="DIR", type=Path, help="write the results here [graded-DIR]"
    )
    command.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="read the class settings from this file [class.toml in DIR]",
    )
    command.add_argument(
        "--assignment", metavar="NAME", help=("name the assignment [as class.toml says]")
    )
    command.add_argument(
        "--jobs",
        metavar="N",
        type=option_values.positive,
        help="grade at most N hand-ins at once [as cores allow]",
    )
    command.add_argument(
        "--cores",
        metavar="N",
        type=option_values.positive,
        default=_CORES,
        help=f"reserve cores for each grading [{_CORES}]",
    )
    command.add_argument(
        "--memory",
        metavar="SIZE",
        type=option_values.num_bytes,
        default=_MEMORY_NUM_BYTES,
        help="limit the memory of each grading [4GiB]",
    )
    command.add_argument(
        "--cluster",
        metavar="FILE",
        type=Path,
        help=("grade on the cluster that this TOML file describes"),
    )
    command.add_argument(
        "--unsealed",
        action="store_true",
        help="grade without containers, where a cluster has no Docker",
    )
    command.add_argument(
        "--regrade",
        action="store_true",
        help="grade again with the present versions, and show changes",
    )
    command.add_argument(
        "--judge-again",
        action="store_true",
        help="as --regrade, but from recordings: no containers, no ranks",
    )
    command.add_argument(
        "--publish", action="store_true", help="with either: replace the marks that changed"
    )
    command.add_argument(
        "--fill",
        metavar="FILE",
        type=Path,
        help="fill in Canvas's gradebook or Moodle's grading worksheet",
    )
    command.add_argument(
        "--column", metavar="NAME", help=("with --fill: name the assignment in Canvas")
    )
    command.add_argument(
        "--sheets", action="store_true", help="write a sheet for grading each submission by hand"
    )
    command.add_argument(
        "--forget", metavar="ID", help="remove everything about this student for good"
    )
    looking_options.add_data_option(command)
