"""Reports that --json has written, read again."""

from pathlib import Path

from grader.model.errors import GraderError, UsageError
from grader.model.report import Report
from grader.report import json_report
from grader.report.json_report import OtherSchemaVersionError


class SavedByOtherVersionError(UsageError):
    """A saved report of another schema version than this grader reads."""


def saved(file: Path) -> Report:
    """Return the report in a file.

    Raises SavedByOtherVersionError for one of another version, UsageError where it is none.
    """
    try:
        return json_report.parse_saved(file.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}; name a report that --json wrote"
        ) from None
    except OtherSchemaVersionError as error:
        raise SavedByOtherVersionError(f"{file} is not a report of this grader: {error}") from None
    except GraderError as error:
        raise UsageError(f"{file} is not a report of this grader: {error}") from None
