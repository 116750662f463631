"""What the commands that grade share: the folder that was named, the report that is shown."""

import argparse
import os
import sys
from pathlib import Path

from grader.commands.context import is_sealed, look
from grader.errors import GraderError, UsageError
from grader.model import Report
from grader.report import html, json_report, junit, markdown, terminal
from grader.report.files import unwritten


def named_submission(options: argparse.Namespace) -> Path:
    """Return the submission that was named. Raises UsageError where none was, or it is not here."""
    if options.submission is None:
        raise UsageError("name the folder to grade, such as `grade check .`")
    path: Path = options.submission
    if is_sealed(os.environ) and not path.exists():
        raise UsageError(
            f"{path} is not in the container; mount what to grade there: "
            f'docker run -v "$PWD:{path}:ro" grade'
        )
    return path


def finish(report: Report, options: argparse.Namespace) -> int:
    """Write and show what was asked for; return the exit code.

    The files come first: they are there though nobody reads on. Raises GraderError when one of
    them could not be written, after all the rest.
    """
    asked = (
        (options.junit, junit.render),
        (options.markdown, markdown.render),
        (options.html, html.render),
        (Path(options.json) if options.json not in (None, "-") else None, json_report.render),
    )
    problems = [unwritten(file, render(report)) for file, render in asked if file is not None]
    if options.json == "-":
        print(json_report.render(report))
    else:
        colour, width = look(sys.stdout.isatty(), options)
        print(
            terminal.render(
                report,
                colour=colour,
                width=width,
                plain=options.plain,
                verbose=options.verbose,
            )
        )
    for problem in filter(None, problems):
        raise GraderError(problem)
    if options.min_score is not None and report.score is not None and not report.review:
        return 0 if report.score >= options.min_score else 1
    return report.exit_code
