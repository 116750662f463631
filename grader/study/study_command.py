"""The command that measures and draws what a sheet asks for: study."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from grader.commands.context import courses_of, data_folder, is_sealed, look, say
from grader.course.data import require_known_files
from grader.intake import process as intake
from grader.intake.placement.recognition import require_likely
from grader.model.errors import INTERRUPTED, GraderError, UsageError
from grader.observe.run_control.machine import check_machine
from grader.report.safe_text import disarm, one_line, visible
from grader.study.failure import by_reason
from grader.study.plan import Extent
from grader.study.writing import PAGE, Made, make

_CLEARED = "\r\x1b[K"
_MOST_REASONS = 8


def study(options: argparse.Namespace) -> int:
    """Measure and draw; return 0 once the folder is written, whatever was measured."""
    if is_sealed(os.environ):
        raise UsageError(
            "`grade study` runs code as your user; run it where the code is written, outside "
            "the container"
        )
    courses = courses_of(options)
    assignment = courses.assignment(options.assignment)
    submission = None
    if options.submission is not None:
        submission = intake.read(options.submission, courses.wanted(options.assignment))
        require_likely(submission, assignment, courses.readable())
    check_machine((*assignment.needs, "matplotlib"))
    data = data_folder(options)
    if data is not None:
        require_known_files(data)
    out = options.out or Path(f"study-{assignment.name}")
    try:
        made = make(
            assignment,
            submission,
            out,
            _extent(options),
            str(data.resolve()) if data is not None else "",
            _teller(options),
        )
    except KeyboardInterrupt:
        if _is_overwritten(options):
            say("")  # below the line of progress
        raise GraderError(
            f"{INTERRUPTED}; {out} keeps what was measured: run the same command again to continue"
        ) from None
    if made.note:
        say(made.note)
    print("\n".join(_ending(made, out)))
    return 0


def _extent(options: argparse.Namespace) -> Extent:
    if options.quick:
        return Extent.QUICK
    return Extent.FULL if options.full else Extent.DEFAULT


def _is_overwritten(options: argparse.Namespace) -> bool:
    """Return whether progress is one line that is overwritten."""
    return sys.stderr.isatty() and not options.plain


def _teller(options: argparse.Namespace) -> Callable[[str], None]:
    """Return what shows how far a study is: in a line that is overwritten, or line by line."""
    is_overwritten = _is_overwritten(options)
    _, width = look(is_overwritten, options)

    def tell(text: str) -> None:
        if not is_overwritten:
            say(disarm(one_line(text)))
        elif text == "drawing":
            say(_CLEARED, end="")
        else:
            say(f"{_CLEARED}{visible(text)[: width - 1]}", end="")

    return tell


def _ending(made: Made, out: Path) -> list[str]:
    lines = [*(f"- {one_line(each)}" for each in made.findings)]
    if made.missing:
        lines.append(f"{len(made.missing)} of {made.num_points} runs are missing from the figures:")
        reasons = by_reason(made.missing)
        shown = reasons[:_MOST_REASONS]
        lines += [f"  {one_line(names)}: {one_line(why)}" for names, why in shown]
        if len(reasons) > _MOST_REASONS:
            lines.append(f"  and other reasons, listed in {PAGE}")
    if made.failed_runs:
        lines.append("failed, so left out of the figures (others of the same kind passed):")
        failed = made.failed_runs[:_MOST_REASONS]
        lines += [f"  {one_line(name)}: {one_line(why)}" for name, why in failed]
        if len(made.failed_runs) > _MOST_REASONS:
            lines.append(f"  and {len(made.failed_runs) - _MOST_REASONS} more, listed in {PAGE}")
    return [*lines, f"{out / PAGE}: {made.num_figures} figures and tables; this is not a mark"]
