"""The command that runs tests in the open, of which no mark comes: open."""

import argparse
import sys

from grader.addons.open_mode.ended import ended
from grader.addons.open_mode.opening import open_submission
from grader.commands.context import courses_of, look
from grader.report.page import Page


def open_tests(options: argparse.Namespace) -> int:
    """Run tests in the open; return 0 if all hold, 1 if one does not."""
    colour, width = look(sys.stdout.isatty(), options)
    end = open_submission(options, courses_of(options), colour=colour)
    if end.failure is not None:
        page = Page(colour, options.plain, width, verbose=True)
        print("\n".join(ended(page, end.test, end.failure)))
    return end.exit_code
