"""Where students stand, told: in a line of the gradebook each, and in the files of each student."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.addons.classroom.class_folder import Pseudonyms, write_atomically
from grader.addons.classroom.marking import WHOLE, Given
from grader.addons.classroom.standing import Standing
from grader.addons.classroom.tables import table_text
from grader.model.points import MARK_OF_CLASS, UNSIGNED, written
from grader.model.report import Report
from grader.report.export import formats
from grader.report.safe_text import one_line

FORMATS = {"json": "report.json", "html": "report.html", "markdown": "report.md"}
MARK = "mark.txt"
_MAX_PATHS = 5
_HEAD = (
    *("id", "name", "group", "pseudonym", "status", "score", "final", "max", "pending"),
    *("tests", "tests_max", "by_people", "marked_by", "reasons"),
    *("hand_in", "submitted_at", "num_hand_ins"),
    *("submission_digest", "sealed", "engine", "course"),
)


def render(standings: Sequence[Standing], pseudonyms: Pseudonyms) -> str:
    """Return the CSV; a part has a column of its points and one of its verdict.

    `score` is what tests and people gave, `final` what is left of it by the rules of the course;
    both are empty as long as there is none.
    """
    reports = [each.report for each in standings if each.report is not None]
    parts = list(dict.fromkeys(part.name for report in reports for part in report.parts))
    head = [*_HEAD, *(f"{part}{what}" for part in parts for what in ("", " verdict"))]
    rows = [[*_row(each, pseudonyms), *_of_parts(each, parts)] for each in standings]
    return table_text([head, *rows])


def _row(each: Standing, pseudonyms: Pseudonyms) -> list[str]:
    student = each.student
    hand_in = each.counted.hand_in if each.counted else None
    at = hand_in.submitted_at if hand_in else None
    return [
        *(student.id, student.name, student.group, pseudonyms.of(student.id), each.status),
        *("" if points is None else written(round(points, 6)) for points in _points(each)),
        *("; ".join(each.mark.markers) if each.mark else "", "; ".join(_reasons(each))),
        *(hand_in.label if hand_in else "", at.isoformat() if at else "", str(len(each.works))),
        *(_of_report(each.report) if each.report else [""] * 4),
    ]


def _points(each: Standing) -> list[float | None]:
    """Return the points from `score` to `by_people`; None where there are none."""
    mark, found = each.mark, [each.decision.raw, each.final]
    if mark is None:
        return [*found, *[None] * 5]
    if each.report is None:
        most = None if mark.problem else mark.max_score
        return [*found, most, None, mark.automatic, None, None]
    tests = (mark.automatic, mark.automatic_max)
    return [*found, mark.max_score, mark.pending, *tests, mark.given]


def _of_report(report: Report) -> list[str]:
    versions = report.versions
    course = f"{versions.course} {versions.course_digest[:12]}"
    sealed = "yes" if report.is_sealed else "no"
    return [report.submission_digest[:12], sealed, versions.engine_digest[:12], course]


def _reasons(each: Standing) -> list[str]:
    """Return why there is no mark, what people settled, and what the rules of the course did."""
    reasons = [each.team] if each.team else []
    reasons += [each.counted.problem] if each.counted and each.counted.problem else []
    if each.mark is not None:
        reasons += [each.mark.problem] if each.mark.problem else []
        for name, given in each.mark.overruled.items():
            why = f": {given.comment}" if given.comment else ""
            by = given.by or "hand"
            reasons.append(f"{name} by {by}: {written(given.points)}{why}")
    reasons += [each.decision.problem] if each.decision.problem else []
    reasons += _of_zeros(each.report) if each.report else []
    return [*reasons, *each.decision.reasons]


def _of_zeros(report: Report) -> list[str]:
    """Return why parts have no points, and what was handed in where nothing of it is graded."""
    reasons: dict[str, list[str]] = {}
    for part in report.parts:
        if part.points == 0 < part.max_points:
            reasons.setdefault(part.message, []).append(part.name)
    told = [f"{', '.join(names)}: {message}" for message, names in reasons.items() if message]
    if report.files and not any(each.is_graded for each in report.files):
        paths = [each.path for each in report.files]
        more = f" and {len(paths) - _MAX_PATHS} more" if len(paths) > _MAX_PATHS else ""
        told.append(f"handed in: {', '.join(paths[:_MAX_PATHS])}{more}")
    return told


def _of_parts(each: Standing, parts: Sequence[str]) -> list[str]:
    by_name = {part.name: part for part in each.report.parts} if each.report else {}
    cells = []
    for name in parts:
        part = by_name.get(name)
        cells += [written(part.points), part.verdict.value] if part else ["", ""]
    return cells


def shown(report: Report, standing: Standing, label: str) -> Report:
    """Return the report as its student may see it, with the mark that stands beside it.

    Nothing in it says where the course keeps it, or calls pending what a person has given.
    """
    first, *lines = mark_lines(standing)
    notes = [f"Your mark: {first}", *lines, *(each for each in report.notes if each != UNSIGNED)]
    notes += [] if report.is_sealed else [MARK_OF_CLASS]
    return replace(
        report, submission=label, course_folder="", image="", manual_parts=(), notes=tuple(notes)
    )


def write_files(folder: Path, standing: Standing) -> None:
    """Write a student's files into a folder, which is made; none of an earlier time is left.

    Raises OSError where it cannot be written to.
    """
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
        report = shown(standing.report, standing, standing.counted.hand_in.label)
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
            lines.append(f"checks: {written(mark.automatic)} of {written(mark.automatic_max)}{how}")
        for name, given in mark.overruled.items():
            what = "all of it" if name == WHOLE else f"{name}, in place of its checks"
            lines.append(f"{what}: {written(given.points)}{_why(given)}")
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
    most = f" of {written(mark.max_score)}" if mark is not None and mark.max_score else ""
    return f"{written(round(standing.final, 6))}{most}"


def _why(given: Given | None) -> str:
    return f" ({given.comment})" if given is not None and given.comment else ""
