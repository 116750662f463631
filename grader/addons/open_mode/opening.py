"""The command that runs tests in the open, of which no mark comes: open."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from grader.addons.open_mode.open_session import OpenEnd, OpenOrder, run_openly
from grader.commands.context import courses_of, look
from grader.course.assignment import Assignment
from grader.course.courses import Courses
from grader.intake import process as intake
from grader.intake.placement.recognition import recognise, require_likely
from grader.intake.placement.table import Placement, place
from grader.model.errors import GraderError, UsageError
from grader.model.report import RunFailure
from grader.model.spelling import did_you_mean
from grader.observe.run_control.machine import check_machine
from grader.report.page import BOLD, Page
from grader.report.quotes import evidence
from grader.report.safe_text import one_line

_TORCH = "torch"
_NO_TESTS = 5
"""What pytest ends with then."""


def open_submission(options: argparse.Namespace, courses: Courses, *, colour: bool) -> OpenEnd:
    """Run the suites of a submission openly, on our own terminal, as the command line says.

    Raises UsageError when it is no folder, or of no assignment that can be run so, GraderError
    where the ranks cannot be started.
    """
    folder, assignment = options.submission, options.assignment
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; an open session runs the files where they are")
    submission = intake.read(folder, courses.wanted(assignment))
    if assignment is None:
        found = recognise(submission, courses.assignments())
    else:
        found = courses.assignment(assignment)
        require_likely(submission, found, courses.readable())
    check_machine(found.needs)
    placement = place(submission, found)
    inside = placement.folder_of(options.part or [])
    if not (folder / inside).is_dir():
        raise UsageError(
            f"{inside} is not a folder, but holds the files: unpack it and name its folder"
        )
    there = _files_in(inside, placement, options.part or [])
    end = run_openly(
        OpenOrder(
            suites=_suites(found, options.part or [], there),
            root=found.folder.parent,
            submission=folder / inside,
            ranks=options.ranks,
            pytest_options=(
                *(["-k", options.k] if options.k else []),
                *(["-s"] if options.s else []),
                *(f"-{name}" for name in "xvq" if getattr(options, name)),
                *options.options,
            ),
            colour=colour,
        )
    )
    return replace(end, exit_code=_exit_code(end.exit_code))


def _files_in(inside: str, placement: Placement, parts: Sequence[str]) -> set[str]:
    """Return the files that lie in a folder under the names that are asked for.

    Raises UsageError where none does, or where one of these parts does not.
    """
    paths = {file: PurePosixPath(path) for file, path in placement.chosen.items()}
    there = {file for file, path in paths.items() if path == PurePosixPath(inside, file)}
    for part in placement.assignment.parts:
        for file in part.files:
            is_wanted = part.name in parts if parts else not there
            if is_wanted and file in paths and file not in there:
                raise UsageError(
                    f"{paths[file]} must be named {PurePosixPath(inside, file)} for an open "
                    "session: rename it"
                )
    return there


def _exit_code(of_pytest: int) -> int:
    """Return the exit code of `grade open`: 0 and 1 are pytest's own.

    Raises UsageError where no test was left to run, GraderError where pytest itself failed.
    """
    if of_pytest == _NO_TESTS:
        raise UsageError("no check is left to run; `grade list` and the handout name all checks")
    if of_pytest not in (0, 1):
        raise GraderError(f"pytest ended with {of_pytest}; see its output")
    return of_pytest


def _suites(found: Assignment, wanted: Sequence[str], handed_in: set[str]) -> tuple[Path, ...]:
    """Return the suites of the wanted parts, or of all that something was handed in for."""
    names = [part.name for part in found.parts]
    for name in wanted:
        if name not in names:
            raise UsageError(
                f"{found.name} has no part {name!r}; {did_you_mean(name, names)}its parts are "
                f"{', '.join(names)}"
            )
    chosen = [part for part in found.parts if part.name in wanted]
    chosen = chosen or list(found.parts_with(handed_in))
    if not chosen:
        raise UsageError(f"no file of {found.name} was found, so there is nothing to run")
    open_to_it = [part for part in chosen if not part.backend.startswith(_TORCH)]
    if not open_to_it:
        raise UsageError(
            f"{', '.join(part.name for part in chosen)} of {found.name} start their own "
            "processes, which an open session cannot: use `grade check`, and print what you "
            "want to see"
        )
    return tuple(found.folder / part.suite for part in open_to_it)


def ended(page: Page, test: str, failure: RunFailure) -> list[str]:
    """Return the lines: which test, the sentence, what was printed last, and what is possible now.

    test: in which the ranks hung or crashed.
    """
    lines = ["", f"{page.verdict(failure.verdict)} in {page.paint(one_line(test), BOLD)}"]
    lines += page.message(failure.message)
    for piece in evidence(failure.detail):
        lines += ["", *page.paragraph(f"{piece.heading}:"), *page.quoted(piece.lines)]
    name = one_line(test.partition("[")[0].removeprefix("test_"))
    next_step = (
        "The session stopped, because a rank that hangs or has crashed cannot continue. To "
        f'run the others, leave this one out: -k "not {name}"'
    )
    return [*lines, "", *page.paragraph(next_step)]


def open_tests(options: argparse.Namespace) -> int:
    """Run tests in the open; return 0 if all hold, 1 if one does not."""
    colour, width = look(sys.stdout.isatty(), options)
    end = open_submission(options, courses_of(options), colour=colour)
    if end.failure is not None:
        page = Page(colour, options.plain, width, verbose=True)
        print("\n".join(ended(page, end.test, end.failure)))
    return end.exit_code
