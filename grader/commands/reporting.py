"""What commands do with reports: show and write one that was made, or export a saved one."""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from grader.commands.context import courses_of, is_sealed, look
from grader.model.errors import GraderError, UsageError
from grader.model.points import points_text, written
from grader.model.report import Report
from grader.report import comparison, json_report, terminal
from grader.report.export import formats
from grader.report.export.formats import Format
from grader.report.feedback import for_student
from grader.report.files import (
    SavedByOtherVersionError,
    remains,
    require_writable,
    saved,
    unwritten,
)
from grader.report.terminal_page import Page

_SCRIPTS = (".py", ".ipynb")


def named_submission(options: argparse.Namespace) -> Path:
    """Return the submission that was named. Raises UsageError where none was, or it is not here."""
    path: Path = options.submission or Path()
    asked = (file for each in courses_of(options).readable() for file in each.handed_in)
    if options.submission is None and not any(map(os.path.isfile, asked)):
        raise UsageError(
            "this folder has no file of any known assignment; name another folder: grade check DIR"
        )
    if path.suffix in _SCRIPTS and path.is_file():
        raise UsageError(f"cannot grade a single file; name its folder: grade check {path.parent}")
    if is_sealed() and not path.exists():
        raise UsageError(
            f"{path} is not in the container; mount the submission there: "
            f'docker run -v "$PWD:{path}:ro" grade'
        )
    return path


def require_reports_writable(options: argparse.Namespace) -> None:
    """Raise UsageError for a report that could not be written, or read, once all is graded."""
    _earlier(options)
    require_writable([*(file for _, file in _exports(options)), options.full_json])


def named_seed(options: argparse.Namespace) -> str:
    """Return the seed of the report that --seed-of names; empty where it names none.

    Raises UsageError where it cannot be read, or keeps no seed.
    """
    if options.seed_of is None:
        return ""
    try:
        seed = json_report.parse_saved(options.seed_of.read_bytes()).seed
    except (OSError, GraderError) as error:
        raise UsageError(f"--seed-of: {options.seed_of} cannot be read: {error}") from None
    if not re.fullmatch(r"([0-9a-f]{2})+", seed):
        raise UsageError(
            f"--seed-of: {options.seed_of} has no seed; name the --full-json report of a sealed "
            "grading. If that grading used the course's secret, set GRADER_SECRET_FILE instead"
        )
    return seed


def is_kept(options: argparse.Namespace) -> bool:
    """Return whether a report keeps the seed of this grading, or has kept it."""
    return options.full_json is not None or options.seed_of is not None


def finish(report: Report, options: argparse.Namespace, *, is_for_client: bool = False) -> int:
    """Write and show what was asked for; return the exit code.

    The files come first, so that they exist even if printing fails. Raises GraderError, after all
    the rest, when one of them could not be written.
    is_for_client: what is printed is for the client of this container, who holds nothing back.
    """
    earlier = _earlier(options)  # before its file may be overwritten
    problems = [_unwritten(*export, report, options) for export in _exports(options)]
    if options.full_json is not None:
        problems.append(unwritten(options.full_json, json_report.render(report)))
    report = report if is_for_client or options.show_hidden else for_student(report)
    colour, width = look(sys.stdout.isatty(), options)
    if options.json == "-":
        print(json_report.render(report))
    elif options.quiet:
        print(terminal.brief(report, colour=colour, width=width, plain=options.plain))
    else:
        print(
            terminal.render(
                report, colour=colour, width=width, plain=options.plain, verbose=options.verbose
            )
        )
        if options.since is not None:
            print(f"\n{_changes(earlier, report, Page(colour, options.plain, width, False))}")
    for problem in filter(None, problems):
        raise GraderError(problem)
    if (options.min_score or 0) > report.max_score:
        most = points_text(report.max_score)
        raise UsageError(
            f"--min-score {written(options.min_score)}: the assignment has only {most}"
        )
    if options.min_score is not None and report.score is not None and not report.review:
        return 0 if report.score >= options.min_score else 1
    return report.exit_code


def _exports(options: argparse.Namespace) -> Iterator[tuple[Format, Path]]:
    """Yield the files that were asked for, each with its format. Raises UsageError."""
    if options.json not in (None, "-"):
        yield formats.named("json"), Path(options.json)
    for name, file in (*options.report, *options.export):
        yield formats.named(name), file


def _unwritten(format: Format, file: Path, report: Report, options: argparse.Namespace) -> str:
    """Write a report for its reader; return why that failed, and leave no old file then."""
    try:
        text = format.render(report, is_full=options.show_hidden)
    except GraderError as error:
        return f"{error}{remains(file)}"
    return unwritten(file, text)


def export(options: argparse.Namespace) -> int:
    """Write a report that --json has saved for a platform; return 0, whatever its mark."""
    chosen = formats.named(options.format)
    require_writable([options.file])
    report = saved(options.report)
    if options.file is None:
        print(chosen.render(report, is_full=options.show_hidden))
    elif problem := _unwritten(chosen, options.file, report, options):
        raise GraderError(problem)
    return 0


def _earlier(options: argparse.Namespace) -> Report | SavedByOtherVersionError | None:
    """Return the report of --since; None where it is not there yet. Raises UsageError.

    One of another version is no reason to grade nothing: it is returned why there is no difference.
    """
    is_there = options.since is not None and options.since.exists()
    try:
        return saved(options.since) if is_there else None
    except SavedByOtherVersionError as error:
        return error


def _changes(earlier: Report | SavedByOtherVersionError | None, report: Report, page: Page) -> str:
    if earlier is None:
        return "There is no earlier report to compare with."
    if isinstance(earlier, SavedByOtherVersionError):
        return "No comparison with the last report: another version of the grader wrote it."
    try:
        return comparison.changes_text(earlier, report, page)
    except ValueError as error:
        return f"No comparison with the last report: {error}."
