"""Writes the results of a class, as files and as lines of text."""

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grader.addons.classroom import (
    class_page,
    gradebook,
    marking_sheets,
    platform_return,
    similarity,
)
from grader.addons.classroom.class_folder import Pseudonyms, write_atomically
from grader.addons.classroom.class_inputs import ClassInputs
from grader.addons.classroom.class_page import reports_of
from grader.addons.classroom.marking import Row, to_settle
from grader.addons.classroom.platform_return import PlatformTable
from grader.addons.classroom.policy import LATE_UNTIMED
from grader.addons.classroom.similarity import Pair
from grader.addons.classroom.standing import Standing, Strays
from grader.addons.classroom.tables import bounded, csv_text, grouped
from grader.commands.context import say_visibly
from grader.course.assignment import Assignment
from grader.course.courses import Courses
from grader.intake import process as intake
from grader.intake.placement.table import place
from grader.model.errors import GraderError
from grader.model.plural import counted
from grader.model.points import UNSIGNED
from grader.report.safe_text import disarm, one_line, visible

GRADEBOOK = "gradebook.csv"
CHANGES = "changes.csv"
CLASS_PAGE = "class.html"
STUDENTS = "students"
MARKING = "marking"
PAIRS = "pairs"


def show(line: str) -> None:
    """Print a line that may contain a name: all of it visible, and no command to a CI runner."""
    print(disarm(visible(line)))


def write_all(
    options: argparse.Namespace,
    inputs: ClassInputs,
    found: Sequence[Standing],
    names: Pseudonyms,
    out: Path,
) -> int:
    """Write all results of a class; return how many pairs of files are nearly the same."""
    counted = [each for each, _ in reports_of(found)]
    # Each is read by a process of its own, which is what takes the time.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        read = pool.map(lambda each: _read_again(each, inputs.courses), counted)
        files = {
            names.of(each.student.id): theirs
            for each, theirs in zip(counted, read, strict=True)
            if theirs is not None
        }
    graded: dict[tuple[str, str], dict[str, Mapping[str, bytes]]] = {}
    for each, report in reports_of(found):
        if (student := names.of(each.student.id)) in files:
            by_student = graded.setdefault((report.assignment, report.versions.course), {})
            by_student[student] = files[student]
    pairs = _pairs([(inputs.courses.assignment(*key), each) for key, each in graded.items()])
    title = inputs.assignment.name if inputs.assignment is not None else options.folder.name
    file = out / GRADEBOOK
    before = file.read_text(encoding="utf-8-sig", errors="replace") if file.exists() else ""
    write(out, found, names, pairs, title)
    if before:
        _tell_changes(gradebook.changes(before, file.read_text(encoding="utf-8")), out / CHANGES)
    if options.sheets:
        for each in counted:
            student = names.of(each.student.id)
            if each.report and each.mark and student in files:
                folder = out / MARKING / student
                marking_sheets.write_sheet(folder, student, each.report, each.mark, files[student])
        _write_table_to_fill(found, names, out)
    return len(pairs)


def _tell_changes(changes: Sequence[tuple[str, str, str]], file: Path) -> None:
    """Write and print whose mark differs from the previous gradebook."""
    marks = counted(len(changes), "mark differs", "marks differ") if changes else "no mark differs"
    show(f"{marks} from the previous gradebook{':' if changes else ''}")
    if changes:
        write_atomically(file, csv_text([("id", "before", "after"), *changes]))
    lines = grouped((student, f"{was} -> {now}") for student, was, now in changes)
    for line in bounded(lines, f"listed in {file}"):
        show(line)


def _write_table_to_fill(found: Sequence[Standing], names: Pseudonyms, out: Path) -> None:
    """Write the table to fill in by hand, with each hand-in that counts; a group's only once."""
    lines: dict[tuple[str, str], tuple[str, str, Sequence[Row]]] = {}
    for each in found:
        if each.counted is not None:
            rows = each.mark.lines if each.mark else [to_settle(each.problem, each.max_points)]
            digest = each.counted.hand_in.digest
            lines.setdefault(each.identity, (names.of(each.student.id), digest, rows))
    file = out / marking_sheets.TO_FILL
    text = marking_sheets.to_fill(list(lines.values()))
    if kept := marking_sheets.replace_unread(file, text):
        show(f"{kept} is the previous {file.name}. It was kept, because it has points or comments")
        show("  that the new one does not have")
    show(f"{out / MARKING} has a sheet for each hand-in; {file} has a line")
    show("  for each question, and for everything else that you must decide. Fill in")
    show(f"  {file.name}, and name it under `marks` in class.toml")


def _read_again(each: Standing, courses: Courses) -> Mapping[str, bytes] | None:
    """Return all that was handed in, by the names that the assignment asks for."""
    if each.counted is None or each.report is None:
        return None
    report, hand_in = each.report, each.counted.hand_in
    assignment = courses.assignment(report.assignment, report.versions.course)
    try:
        return place(intake.read(hand_in.path, assignment.wanted), assignment).everything
    except GraderError as error:  # its mark stands, and so do all others
        say_visibly(f"{hand_in.label} is not compared with others and has no sheet: {error}")
        return None


def _pairs(graded: Iterable[tuple[Assignment, Mapping[str, Mapping[str, bytes]]]]) -> list[Pair]:
    """Return the pairs of each assignment, the most alike first; its files are by student."""
    found = []
    for assignment, files in graded:
        sources = {
            student: {
                name: content.decode(errors="replace")
                for name, content in theirs.items()
                if name.endswith(".py")
            }
            for student, theirs in files.items()
        }
        template = {
            str(file.relative_to(assignment.template)): file.read_text(encoding="utf-8")
            for file in assignment.template.rglob("*.py")
        }
        found += similarity.near_identical(sources, template)
    return sorted(found, key=lambda pair: -pair.share)


def give_back(table: PlatformTable, found: Sequence[Standing], out: Path) -> None:
    """Write the platform's table, filled in, and the feedback; say which lines are unchanged."""
    filled = platform_return.fill(table, found)
    grades = out / f"{table.platform}-grades.csv"
    feedback = out / f"{table.platform}-feedback.zip"
    write_atomically(grades, filled.text)
    write_atomically(feedback, platform_return.feedback_zip(found))
    number = counted(filled.num_filled, "grade")
    platform = table.platform.capitalize()
    show(f"{grades} has {number} for {platform}; {feedback} has the feedback")
    for line in bounded([f"unchanged: {reason}" for reason in filled.left], "also unchanged"):
        show(line)


def outdated(out: Path) -> list[Path]:
    """Return the tables of a platform that were written before marks last changed."""
    changed_s = max((each.stat().st_mtime for each in out.glob(CHANGES)), default=0.0)
    return sorted(each for each in out.glob("*-grades.csv") if each.stat().st_mtime < changed_s)


def write(
    out: Path, standings: Sequence[Standing], names: Pseudonyms, pairs: Sequence[Pair], title: str
) -> None:
    """Write the gradebook, the pages and the students' files. Raises OSError."""
    write_atomically(out / GRADEBOOK, gradebook.render(standings, names))
    write_atomically(out / CLASS_PAGE, class_page.render(title, standings, names, pairs))
    (out / PAIRS).mkdir(exist_ok=True)
    for before in (out / PAIRS).glob("[0-9]*.html"):
        before.unlink()
    for number, pair in enumerate(pairs[: class_page.MOST_PAIRS], 1):
        write_atomically(out / PAIRS / f"{number}.html", class_page.render_pair(pair))
    for each in standings:
        gradebook.write_files(out / STUDENTS / names.of(each.student.id), each)


def _shared_notes(standings: Sequence[Standing]) -> list[str]:
    """Return the notes that all reports have: they are about the grader, not about a hand-in."""
    noted = [report.notes for _, report in reports_of(standings)]
    first = noted[0] if noted else ()
    shared = [each for each in first if all(each in other for other in noted)]
    return [one_line(each) for each in shared if each != UNSIGNED]  # as --unsealed has it


def summary(
    standings: Sequence[Standing],
    strays: Strays,
    unknown_times: Sequence[str],
    out: Path,
    num_pairs: int = 0,
    *,
    has_sheets: bool = False,
) -> Iterator[str]:
    """Yield the lines that end the command: how many there are of each kind, and who needs help."""
    counts = Counter(each.status for each in standings)
    words = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    yield f"{counted(len(standings), 'student')}: {words}"
    if counts["pending"]:
        how = "" if has_sheets else "; --sheets writes grading sheets"
        yield f"pending: you must still give some points by hand{how}"
    lacking = "pending questions whose file was not handed in; give points by hand, or"
    for line in grouped(
        (each.student.id, lacking)
        for each in standings
        if each.mark and any(row.is_missing and row.given is None for row in each.mark.rows)
    ):
        yield line
        yield '  write not_handed_in = "zero" in class.toml to give each 0 points'
    if untimed := [each for each in standings if each.decision.is_untimed]:
        yield f"students without a hand-in time, counted as on time: {len(untimed)}; to change"
        yield "  this, add the times to the file under `times` in class.toml"
    if unclear := [each.student.id for each in standings if LATE_UNTIMED in each.decision.reasons]:
        yield f"late without a time, so no points were deducted: {', '.join(unclear)}; add their"
        yield "  times to the file under `times` in class.toml"
    yield from (f"note on every grading: {each}" for each in _shared_notes(standings))
    graded_by = (each.versions for _, each in reports_of(standings))
    versions = Counter((each.course, each.course_digest) for each in graded_by)
    if len(versions) > len({course for course, _ in versions}):
        numbers = " and ".join(str(number) for _, number in versions.most_common())
        yield f"hand-ins graded with different versions of the course: {numbers}; --regrade or"
        yield "  --judge-again shows which marks would change with the current version"
    # The gradebook has no line for hand-ins without an author, so they are listed here.
    nobodys = [*strays.hand_ins, *strays.authors, *strays.keys]
    nobodys += [
        f"the file under `times` lists {label}, but no such hand-in exists"
        for label in unknown_times
    ]
    problems = grouped((each.student.id, each.problem) for each in standings if each.problem)
    if nobodys or problems:
        yield "For you to decide:"
        yield from (f"  {problem}" for problem in nobodys)
        yield from bounded(problems, f"listed in {GRADEBOOK}")
    if counts["cannot be graded"] or counts["not graded"] or counts["needs review"]:
        listed = "there is a line" if has_sheets else "--sheets writes a line"
        yield f"  for each of these students, {listed} in to-mark.csv; give points there"
    if missing := counts["no hand-in found"]:
        who = counted(missing, "student has", "students have")
        yield f"{who} no hand-in, and will get no mark until every hand-in has an author"
    yield f"{out / GRADEBOOK} has the marks, {out / STUDENTS} a folder for each student,"
    yield f"and {out / CLASS_PAGE} an overview of the class"
    if num_pairs:
        are = counted(num_pairs, "pair of files is", "pairs of files are")
        yield f"{are} nearly identical; {out / PAIRS} shows them side by side"
