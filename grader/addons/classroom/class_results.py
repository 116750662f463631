"""What the command `class` makes of gradings: pages, sheets, and what goes back to a platform."""

import argparse
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader.addons.classroom import (
    filled_in,
    marking_sheets,
    outputs,
    platform_return,
    platform_table,
    similarity,
)
from grader.addons.classroom.class_inputs import ClassInputs
from grader.addons.classroom.gradings import write_atomically
from grader.addons.classroom.hand_in import HandIn
from grader.addons.classroom.marking import Mark, Row, to_settle
from grader.addons.classroom.platform_table import PlatformTable
from grader.addons.classroom.pseudonyms import Pseudonyms
from grader.addons.classroom.similarity import Pair
from grader.addons.classroom.standing import Standing
from grader.commands.context import say_visibly
from grader.course.assignment import Assignment
from grader.intake import process as intake
from grader.intake.placement.table import place
from grader.model.errors import GraderError, UsageError
from grader.model.report import Report
from grader.report.safe_text import disarm, visible

_MOST_SHOWN = 20


def show(line: str) -> None:
    """Print a line that may repeat a name: all of it visible, and no command to a CI runner."""
    print(disarm(visible(line)))


def write(
    options: argparse.Namespace,
    inputs: ClassInputs,
    found: Sequence[Standing],
    names: Pseudonyms,
    out: Path,
) -> int:
    """Write the gradebook, the page of the class, the students' files, and sheets if asked for.

    Return how many pairs of files are nearly the same.
    """
    handed_in = _handed_in(inputs, found, names)
    pairs = _pairs(inputs, handed_in)
    title = inputs.assignment.name if inputs.assignment is not None else options.folder.name
    outputs.write(out, found, names, pairs, title)
    if options.sheets:
        for each in handed_in:
            folder = out / outputs.MARKING / each.student
            marking_sheets.write(folder, each.student, each.report, each.mark, each.files)
        file = out / marking_sheets.TO_FILL
        lines = marking_sheets.to_fill(_lines(inputs, found, names))
        if kept := filled_in.replace_unread(file, lines):
            show(f"{kept} is the previous {file.name}: class.toml lacks some of its points")
        show(
            f"{out / outputs.MARKING} has a sheet for each hand-in, "
            f"{out / marking_sheets.TO_FILL} a line"
        )
        show("  for each question, and for what is settled by hand: fill it in, and name it")
        show("  under `marks` in class.toml")
    return len(pairs)


def _lines(
    inputs: ClassInputs, found: Sequence[Standing], names: Pseudonyms
) -> list[tuple[str, str, Sequence[Row]]]:
    """Return what is filled in by hand of each hand-in that counts: that of a group once."""
    lines: dict[tuple[str, str], tuple[str, str, Sequence[Row]]] = {}
    for each in found:
        if each.counted is not None:
            rows = each.mark.lines if each.mark else [to_settle(each.problem, inputs.questions)]
            digest = each.counted.hand_in.digest
            lines.setdefault(each.identity, (names.of(each.student.id), digest, rows))
    return list(lines.values())


@dataclass(frozen=True)
class _HandedIn:
    """What counts for somebody, read again: that of a group once."""

    student: str
    """The pseudonym, of a group that of one of them."""
    digest: str
    """Of the hand-in."""
    report: Report
    mark: Mark
    files: Mapping[str, bytes]
    """All that was read, by the names that the assignment asks for."""


def _handed_in(
    inputs: ClassInputs, found: Sequence[Standing], names: Pseudonyms
) -> list[_HandedIn]:
    marked: dict[tuple[str, str], tuple[HandIn, str, Report, Mark]] = {}
    for each in found:
        work, mark = each.counted, each.mark
        if work is not None and work.grading and work.grading.report and mark is not None:
            counted = (work.hand_in, names.of(each.student.id), work.grading.report, mark)
            marked.setdefault(each.identity, counted)
    # Each is read by a process of its own, which is what takes the time.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        read = pool.map(
            lambda one: _read_again(one[0], inputs.courses.assignment(one[2].assignment)),
            marked.values(),
        )
        return [
            _HandedIn(student, hand_in.digest, report, mark, files)
            for (hand_in, student, report, mark), files in zip(marked.values(), read, strict=True)
            if files is not None
        ]


def _read_again(hand_in: HandIn, assignment: Assignment) -> Mapping[str, bytes] | None:
    wanted = assignment.wanted
    try:
        return place(intake.read(hand_in.path, wanted), assignment).everything
    except GraderError as error:  # its mark stands, and so do all others
        say_visibly(f"{hand_in.label} is not compared and has no sheet: {error}")
        return None


def _pairs(inputs: ClassInputs, handed_in: Sequence[_HandedIn]) -> list[Pair]:
    sources = {
        each.student: {
            name: content.decode(errors="replace")
            for name, content in each.files.items()
            if name.endswith(".py")
        }
        for each in handed_in
    }
    template = {}
    if inputs.assignment is not None:
        folder = inputs.assignment.template
        template = {
            str(file.relative_to(folder)): file.read_text(encoding="utf-8")
            for file in folder.rglob("*.py")
        }
    return similarity.near_identical(sources, template)


def table_to_fill(options: argparse.Namespace) -> PlatformTable | None:
    """Return the platform's table of grades that is to be filled in, if one is."""
    if options.fill is None:
        return None
    try:
        text = str(options.fill.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{options.fill} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{options.fill} is not text in UTF-8; export it again as CSV") from None
    return platform_table.read(text, str(options.fill), options.column)


def give_back(table: PlatformTable, found: Sequence[Standing], out: Path) -> None:
    """Write the platform's table, filled in, and the feedback; say what was left as it was."""
    filled = platform_return.fill(table, found)
    grades = out / f"{filled.platform}-grades.csv"
    feedback = out / f"{filled.platform}-feedback.zip"
    write_atomically(grades, filled.text)
    write_atomically(feedback, platform_return.feedback_zip(found))
    show(
        f"{grades} has {filled.num_filled} grades for {filled.platform}; {feedback} has the "
        "feedback"
    )
    for reason in filled.left[:_MOST_SHOWN]:
        show(f"  unchanged: {reason}")
    if len(filled.left) > _MOST_SHOWN:
        show(f"  and {len(filled.left) - _MOST_SHOWN} more lines, unchanged")
