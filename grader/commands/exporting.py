"""The command that writes a saved report for a platform: export."""

import argparse
from pathlib import Path

from grader.errors import GraderError, UsageError
from grader.model import Report
from grader.report import json_report
from grader.report.export import formats
from grader.report.files import require_writable, unwritten


def export(options: argparse.Namespace) -> int:
    """Write a report that --json has saved; return 0, whatever its mark."""
    chosen = formats.named(options.format)
    require_writable([options.file])
    text = chosen.render(saved(options.report), is_full=options.show_hidden)
    if options.file is None:
        print(text)
        return 0
    problem = unwritten(options.file, text)
    if problem:
        raise GraderError(problem)
    return 0


def saved(file: Path) -> Report:
    """Return the report in a file. Raises UsageError where it is none of this grader."""
    try:
        return json_report.parse(file.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}; name a report that --json has written"
        ) from None
    except GraderError as error:
        raise UsageError(f"{file} is no report of this grader: {error}") from None
