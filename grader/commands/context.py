"""What commands ask of their options and their environment, and how they speak beside a report."""

import argparse
import contextlib
import os
import shutil
import sys
from pathlib import Path

from grader.course.courses import Courses, find_courses
from grader.report.live import Live
from grader.report.safe_text import disarm, one_line
from grader.report.terminal_page import Page

_DEFAULT_WIDTH = 80
_MAX_WIDTH = 100


def courses_of(options: argparse.Namespace) -> Courses:
    """Return the courses that a command knows. Raises UsageError, GraderError."""
    return find_courses(named_courses(options))


def named_courses(options: argparse.Namespace) -> list[Path]:
    """Return the folders that --course names, before the command and after it."""
    return [*options.course_before, *getattr(options, "course", ())]


def is_sealed() -> bool:
    """Return whether we are in the container that grades: ranks are users of their own."""
    return os.environ.get("GRADER_SEALED") == "1" and os.geteuid() == 0


def data_folder(options: argparse.Namespace) -> Path | None:
    """Return the folder with data files that was named, if one was."""
    folder = options.data or os.environ.get("GRADER_DATA")
    return Path(folder) if folder else None


def look(is_terminal: bool, options: argparse.Namespace) -> tuple[bool, int]:
    """Return whether there is colour, and how many columns."""
    colour = is_terminal and not options.plain and not os.environ.get("NO_COLOR")
    columns = shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns
    return colour, min(columns, _MAX_WIDTH) if is_terminal else _DEFAULT_WIDTH


def live_view(options: argparse.Namespace, *, verbose: bool = False, quiet: bool = False) -> Live:
    """Return what shows a run that is still going on; with `quiet` it shows nothing."""
    is_terminal = sys.stderr.isatty()
    colour, width = look(is_terminal, options)
    page = Page(colour, options.plain, width, verbose)
    return Live(page, lambda text: None if quiet else say(text, end=""), is_terminal=is_terminal)


def say(line: str, end: str = "\n") -> None:
    """Say something beside the report, on standard error; failing to print it is no error."""
    with contextlib.suppress(OSError):
        print(line, end=end, file=sys.stderr, flush=True)


def say_visibly(line: str) -> None:
    """Say what may quote a student: the log of a CI runner must not obey it as a command."""
    say(disarm(one_line(line)))
