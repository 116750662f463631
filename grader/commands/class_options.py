"""The options of the command that grades a class."""

import argparse
from pathlib import Path

from grader.commands import looking_options
from grader.commands.option_values import num_bytes, positive


def add_class_options(command: argparse.ArgumentParser) -> None:
    """Add what `grade class` takes, but for the options of containers."""
    add = command.add_argument
    add("folder", metavar="DIR", type=Path, help="the hand-ins as the platform delivers them")
    add("--out", metavar="DIR", type=Path, help="write the results here [graded-DIR]")
    settings = "read the class settings from this file [class.toml in DIR]"
    add("--config", metavar="FILE", type=Path, help=settings)
    add("--assignment", metavar="NAME", help="grade as this assignment [as class.toml says]")
    jobs = "grade at most N hand-ins at once [as cores allow]"
    add("--jobs", metavar="N", type=positive, help=jobs)
    cores = "reserve cores for each grading [4]"
    add("--cores", metavar="N", type=positive, default=4, help=cores)
    memory = "limit the memory of each grading [4GiB]"
    add("--memory", metavar="SIZE", type=num_bytes, default=4 << 30, help=memory)
    cluster = "grade on the cluster described in this TOML file"
    add("--cluster", metavar="FILE", type=Path, help=cluster)
    unsealed = "grade without containers, on a cluster without Docker"
    add("--unsealed", action="store_true", help=unsealed)
    regrade = "grade again with the present versions, and show changes"
    add("--regrade", action="store_true", help=regrade)
    judge = "as --regrade, but from recordings: no containers, no ranks"
    add("--judge-again", action="store_true", help=judge)
    publish = "with either: replace the marks that changed"
    add("--publish", action="store_true", help=publish)
    fill = "fill in Canvas's gradebook or Moodle's grading worksheet"
    add("--fill", metavar="FILE", type=Path, help=fill)
    add("--column", metavar="NAME", help="with --fill: fill this column of Canvas")
    sheets = "write a sheet for grading each submission by hand"
    add("--sheets", action="store_true", help=sheets)
    add("--forget", metavar="ID", help="remove everything about this student for good")
    looking_options.add_data_option(command)
