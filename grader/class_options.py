"""The options of the command that grades a class."""

import argparse
from pathlib import Path

from grader import looking_options, option_values

_CORES = 4
_MEMORY_NUM_BYTES = 4 << 30


def add_class_options(command: argparse.ArgumentParser) -> None:
    """Add what `grade class` takes, but for the options of containers."""
    command.add_argument(
        "folder", metavar="DIR", type=Path, help="what was handed in, as the platform delivers it"
    )
    command.add_argument(
        "--out", metavar="DIR", type=Path, help="where to write (default: graded-DIR)"
    )
    command.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="deadline, roster, marks of people, ... (default: class.toml in DIR)",
    )
    command.add_argument("--assignment", metavar="NAME", help="default: as class.toml says")
    command.add_argument(
        "--jobs",
        metavar="N",
        type=option_values.positive,
        help="how many to grade at once, at most (default: as many as there are cores for)",
    )
    command.add_argument(
        "--cores",
        metavar="N",
        type=option_values.positive,
        default=_CORES,
        help=f"for each grading, which no other one uses meanwhile (default: {_CORES})",
    )
    command.add_argument(
        "--memory",
        metavar="SIZE",
        type=option_values.num_bytes,
        default=_MEMORY_NUM_BYTES,
        help="for each grading (default: 4GiB)",
    )
    command.add_argument(
        "--cluster", metavar="FILE", type=Path, help="grade on a cluster, which this TOML describes"
    )
    command.add_argument(
        "--unsealed",
        action="store_true",
        help="without containers, as who you are: where a cluster has no Docker",
    )
    command.add_argument(
        "--regrade",
        action="store_true",
        help="grade all again by the present engine and course, and show what would change",
    )
    command.add_argument(
        "--judge-again",
        action="store_true",
        help="as --regrade, from what was recorded of each grading: without containers or ranks",
    )
    command.add_argument(
        "--publish", action="store_true", help="with either: take over what has changed"
    )
    command.add_argument(
        "--fill",
        metavar="FILE",
        type=Path,
        help="the gradebook that Canvas exports, or Moodle's grading worksheet, to be filled in",
    )
    command.add_argument("--column", metavar="NAME", help="with --fill: which assignment of Canvas")
    command.add_argument(
        "--sheets", action="store_true", help="write what a person needs to mark each submission"
    )
    command.add_argument(
        "--forget", metavar="ID", help="remove all that is kept of this student, for good"
    )
    looking_options.add_data_option(command)
