"""Writes where students stand: a line of the gradebook each, and the files of each student."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.addons.classroom.class_folder import Pseudonyms, write_atomically
from grader.addons.classroom.marking import WHOLE, Given, Mark, Row
from grader.addons.classroom.standing import Standing
from grader.addons.classroom.tables import delimiter_of, table_text
from grader.model.finding import Finding
from grader.model.points import MARK_OF_CLASS, UNSIGNED, written
from grader.model.report import ClassMark, PartResult, Report, TestResult, Verdict
from grader.report.export import formats
from grader.report.safe_text import one_line
from grader.report.words import STAGE_PAID

FORMATS = {"json": "report.json", "html": "report.html", "markdown": "report.md"}
MARK = "mark.txt"
_MAX_PATHS = 5
_NUMBER = re.compile(r"[\d.]+").fullmatch
_PROMISE = re.compile(
    r"(\A|[;.,] )(otherwise )?your instructor reviews (this part|this|it)\b", re.IGNORECASE
)
"""The promise in a finding that an instructor reviews a part: untrue once the part is settled."""
_HEAD = (
    *("id", "name", "group", "pseudonym", "status", "score", "final", "max", "pending"),
    *("tests", "tests_max", "by_people", "marked_by", "reasons"),
    *("hand_in", "submitted_at", "num_hand_ins"),
    *("submission_digest", "sealed", "engine", "course", "grading"),
)


def render(standings: Sequence[Standing], pseudonyms: Pseudonyms) -> str:
    """Return the CSV; a part has a column of its points and one of its verdict.

    `score` has the points from tests and people, `final` those after the rules of the course;
    both are empty as long as there is no mark.
    """
    rows = [_row(each, pseudonyms) for each in standings]
    of_parts = dict.fromkeys(column for row in rows for column in row if column not in _HEAD)
    columns = [*_HEAD, *of_parts]
    cells = [[row.get(column, "") for column in columns] for row in rows]
    return table_text([[*_HEAD, *map(_head_of, of_parts)], *cells])


def changes(before: str, now: str) -> list[tuple[str, str, str]]:
    """Return whose mark differs between two gradebooks: the id, and the mark in each."""
    try:
        old, new = map(_marks, (before, now))
    except csv.Error:  # The one before is damaged.
        return []
    none = "not in the class"
    pairs = [(each, old.get(each, none), new.get(each, none)) for each in {**new, **old}]
    return [each for each in pairs if each[1] != each[2] and any(map(_NUMBER, each[1:]))]


def _marks(text: str) -> dict[str, str]:
    """Return what a gradebook gives each student: the final mark, or why there is none."""
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter_of(text))
    cells = ([row.get(name) or "" for name in ("id", "final", "status")] for row in rows)
    return {student: final.replace(",", ".") or status for student, final, status in cells}


def _head_of(column: str | tuple[str, str]) -> str:
    """Return the head of a part's column; a part may be called as another column is."""
    head = "".join(column)
    return f"{head} points" if head in _HEAD else head


def _row(each: Standing, pseudonyms: Pseudonyms) -> dict[str | tuple[str, str], str]:
    """Return the cells that are not empty, by their columns; a part's column is a pair of words."""
    student, mark, report = each.student, each.mark, each.report
    row: dict[str | tuple[str, str], str] = {
        **{"id": student.id, "name": student.name, "group": student.group},
        **{"pseudonym": pseudonyms.of(student.id), "status": each.status},
        **{"score": _points(each.decision.raw), "final": _points(each.final)},
        **{"reasons": "; ".join(_reasons(each)), "num_hand_ins": str(len(each.works))},
    }
    if each.counted is not None:
        hand_in = each.counted.hand_in
        row["hand_in"] = hand_in.label
        row["submitted_at"] = hand_in.submitted_at.isoformat() if hand_in.submitted_at else ""
        row["grading"] = each.counted.grading.key if each.counted.grading else ""
    if mark is None and each.final is not None:
        row["max"] = _points(each.max_points or None)
    if mark is not None:
        row |= {"tests": _points(mark.automatic), "marked_by": "; ".join(mark.markers)}
        row["max"] = _points(mark.max_score) if report or not mark.problem else ""
        row["by_people"] = _points(mark.given) if report or mark.score is not None else ""
    if mark is not None and report is not None:
        row["pending"] = _points(mark.pending)
        row["tests_max"] = _points(mark.automatic_max)
    if report is not None:
        versions = report.versions
        row["submission_digest"] = report.submission_digest[:12]
        row["sealed"] = "yes" if report.is_sealed else "no"
        row["engine"] = versions.engine_digest[:12]
        row["course"] = f"{versions.course} {versions.course_digest[:12]}"
        for part in report.parts:
            row[part.name, ""] = written(part.points)
            row[part.name, " verdict"] = part.verdict.value
    return row


def _points(points: float | None) -> str:
    return "" if points is None else written(round(points, 6))


def _reasons(each: Standing) -> list[str]:
    """Return why there is no mark, what people settled, and what the rules of the course did."""
    reasons = [each.team] if each.team else []
    reasons += [each.counted.problem] if each.counted and each.counted.problem else []
    if each.mark is not None:
        reasons += [each.mark.problem] if each.mark.problem else []
        for name, given in each.mark.overruled.items():
            why = f": {given.comment}" if given.comment else ""
            by = given.by or "hand"
            reasons.append(f"{name}, graded by {by}: {written(given.points)}{why}")
    reasons += [each.decision.problem] if each.decision.problem else []
    reasons += _of_zeros(each.report, each.mark) if each.report else []
    return [*reasons, *each.decision.reasons]


def _of_zeros(report: Report, mark: Mark | None) -> list[str]:
    """Return why parts have no points, except parts that a person has settled."""
    settled = mark.overruled if mark is not None else {}
    if WHOLE in settled:
        return []
    for_a_person = {row.name for row in mark.settled} if mark is not None else set()
    reasons: dict[str, list[str]] = {}
    for part in report.parts:
        if part.verdict is Verdict.NOT_ATTEMPTED and part.name in for_a_person:
            continue  # the mark's problem names it
        if part.points == 0 < part.max_points and part.name not in settled:
            reasons.setdefault(part.message, []).append(part.name)
    told = [f"{', '.join(names)}: {message}" for message, names in reasons.items() if message]
    if report.files and not any(each.is_graded for each in report.files):
        paths = [each.path for each in report.files]
        more = f", and {len(paths) - _MAX_PATHS} more" if len(paths) > _MAX_PATHS else ""
        told.append(f"handed in: {', '.join(paths[:_MAX_PATHS])}{more}")
    return told


def shown(report: Report, standing: Standing, name: str) -> Report:
    """Return the report as its student may see it, with the mark next to it.

    It never says where the course keeps it, nor calls points pending that were already given.
    """
    first, *lines = mark_lines(standing)
    notes = [*lines, *(each for each in report.notes if each != UNSIGNED)]
    notes += [] if report.is_sealed else [MARK_OF_CLASS]
    given = standing.mark.overruled if standing.mark is not None else {}
    settled = tuple(each.name for each in report.parts if {each.name, WHOLE} & given.keys())
    return replace(
        report,
        submission=name,
        is_for_owner=True,
        parts=tuple(_settled(part) if part.name in settled else part for part in report.parts),
        manual_parts=(),
        mark=ClassMark(f"Your mark: {first}" if standing.final is not None else first, settled),
        questions=tuple(map(_question, standing.mark.rows)) if standing.mark is not None else (),
        notes=tuple(notes),
    )


def _question(row: Row) -> tuple[str, str, str]:
    """Return title, result, and points of what a person grades."""
    points = written(row.given.points) if row.given else "-"
    result = "graded by your instructor" if row.given else "not graded yet"
    return row.title, result, f"{points} of {written(row.max_points)}"


def _settled(part: PartResult) -> PartResult:
    """Return a part that was settled by hand, without points or reviews that it will not get."""
    return replace(
        part,
        message=_PROMISE.sub("", part.message),
        notes=tuple(map(_kept, part.notes)),
        tests=tuple(map(_told, part.tests)),
    )


def _told(test: TestResult) -> TestResult:
    findings = tuple(map(_kept, test.findings))
    return replace(test, message=_PROMISE.sub("", test.message), findings=findings)


def _kept(finding: Finding) -> Finding:
    if finding.key == STAGE_PAID:  # without the points that this was worth
        return Finding("", f"your code {finding.facts['shown']}")
    text, helps = (_PROMISE.sub("", each) for each in (finding.text, finding.help))
    return replace(finding, text=text, help=helps)


def write_files(folder: Path, standing: Standing) -> None:
    """Write a student's files, and remove outdated ones. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = files_of(standing)
    for name in FORMATS.values():
        if name not in texts:  # a report of an earlier hand-in is not that of this mark
            (folder / name).unlink(missing_ok=True)
    for name, text in texts.items():
        write_atomically(folder / name, text)


def files_of(standing: Standing) -> Mapping[str, str]:
    """Return the texts of a student's files by their names."""
    found = {MARK: mark_text(standing)}
    if standing.report is not None and standing.counted is not None:
        hand_in = standing.counted.hand_in
        report = shown(standing.report, standing, hand_in.name or hand_in.label)
        for name, file in FORMATS.items():
            found[file] = formats.named(name).render(report) + "\n"
    return found


def mark_text(standing: Standing) -> str:
    """Return the file of the mark."""
    first, *lines = mark_lines(standing)
    return "\n".join([first, "", *(f"- {line}" for line in lines), ""])


def mark_lines(standing: Standing) -> list[str]:
    """Return the mark and how it came about: tests, what people gave, the rules of the course."""
    mark, decision, work = standing.mark, standing.decision, standing.counted
    lines = [_first_line(standing)]
    if mark is not None:
        if mark.automatic is not None:
            is_unsealed = standing.report is not None and not standing.report.is_sealed
            how = ", graded unsealed" if is_unsealed else ""
            which = "checks of the other parts" if mark.settled else "checks"
            points = f"{written(mark.automatic)} of {written(mark.automatic_max)}"
            lines.append(f"{which}: {points}{how}")
        for name, given in mark.overruled.items():
            what = "the whole hand-in" if name == WHOLE else f"{name}, reviewed and graded by hand"
            full = next(row.max_points for row in mark.settled if row.name == name)
            out_of = f" of {written(full)}" if full else ""
            lines.append(f"{what}: {written(given.points)}{out_of}{_why(given)}")
        for row in mark.rows:
            most = written(row.max_points)
            points = f"{written(row.given.points)} of {most}" if row.given else ""
            lines.append(f"{row.title}: {points or f'pending, at most {most}'}{_why(row.given)}")
        lines += [mark.problem] if mark.problem else []
    elif work is not None and not work.hand_in.digest:
        lines.append(work.problem)  # nothing that can be graded was handed in
    lines += [*filter(None, (standing.team, decision.problem)), *decision.reasons]
    return [one_line(line) for line in lines]


def _first_line(standing: Standing) -> str:
    mark = standing.mark
    if mark is not None and standing.status == "pending":
        return f"no mark yet: {written(mark.pending)} of {written(mark.max_score)} points pending"
    if standing.final is None:
        return "no mark yet"
    most = mark.max_score if mark is not None else standing.max_points
    return f"{written(round(standing.final, 6))}{f' of {written(most)}' if most else ''}"


def _why(given: Given | None) -> str:
    return f" ({given.comment})" if given is not None and given.comment else ""
