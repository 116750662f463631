"""Reports in files of the user's: whether they can be written, writing them, reading them."""

import os
from collections.abc import Iterable
from pathlib import Path

from grader.model.errors import GraderError, UsageError
from grader.model.report import Report
from grader.report import json_report
from grader.report.json_report import OtherSchemaVersionError


def require_writable(files: Iterable[str | Path | None]) -> None:
    """Raise UsageError for a report that could not be written once all is graded."""
    for file in (Path(each) for each in files if each not in (None, "-")):
        if file.is_dir() or not os.access(file.parent, os.W_OK | os.X_OK):
            raise UsageError(
                f"{file} cannot be written; name a file in an existing folder that you can write to"
            )


def unwritten(file: Path, text: str) -> str:
    """Write a report; return why that was not possible, if so."""
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        return f"{file} cannot be written: {error.strerror}"
    return ""


def remains(file: Path) -> str:
    """Remove an old report in place of which there is none; return that it is there, if so.

    Only a file is removed, not a way to one: /dev/stdout is named as well.
    """
    if not file.is_file():
        return ""
    if not file.is_symlink():
        try:
            file.unlink()
        except OSError:
            pass
        else:
            return ""
    return f"; {file} still has its previous contents: do not use it"


class SavedByOtherVersionError(UsageError):
    """A saved report of another schema version than this grader reads."""


def saved(file: Path) -> Report:
    """Return the report in a file. Raises UsageError; SavedByOtherVersionError is one."""
    try:
        return json_report.parse_saved(file.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}; name a report that --json wrote"
        ) from None
    except OtherSchemaVersionError as error:
        raise SavedByOtherVersionError(
            f"{file} is not a report from this grader: {error}"
        ) from None
    except GraderError as error:
        raise UsageError(f"{file} is not a report from this grader: {error}") from None
