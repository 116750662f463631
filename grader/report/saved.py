"""Reports that --json has written, read again."""

from pathlib import Path

from grader.errors import GraderError, UsageError
from grader.model import Report
from grader.report import json_report


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
