"""The gradebook: a CSV with a line for each student, raw and final score, and the reasons."""

from collections.abc import Sequence

from grader.addons.classroom.csv_tables import table_text
from grader.addons.classroom.pseudonyms import Pseudonyms
from grader.addons.classroom.standing import Standing
from grader.model.points import written
from grader.model.report import Report

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
    parts = list(
        dict.fromkeys(
            part.name
            for each in standings
            if each.counted and each.counted.grading and each.counted.grading.report
            for part in each.counted.grading.report.parts
        )
    )
    head = [*_HEAD, *(f"{part}{what}" for part in parts for what in ("", " verdict"))]
    rows = [[*_row(each, pseudonyms), *_of_parts(each, parts)] for each in standings]
    return table_text([head, *rows])


def _row(each: Standing, pseudonyms: Pseudonyms) -> list[str]:
    student, decision, mark = each.student, each.decision, each.mark
    report = each.counted.grading.report if each.counted and each.counted.grading else None
    hand_in = each.counted.hand_in if each.counted else None
    at = hand_in.submitted_at if hand_in else None
    return [
        *(student.id, student.name, student.group, pseudonyms.of(student.id), each.status),
        *(_points(decision.raw), _points(each.final)),
        *(_points(mark.max_score if mark and (report or not mark.problem) else None),),
        *(_points(mark.pending if report and mark else None),),
        *(_points(mark.automatic if mark else None),),
        *(_points(mark.automatic_max if report and mark else None),),
        *(_points(mark.given if report and mark else None),),
        *("; ".join(mark.markers) if mark else "", "; ".join(_reasons(each))),
        *(hand_in.label if hand_in else "", at.isoformat() if at else "", str(len(each.works))),
        *(report.submission_digest[:12] if report else "",),
        *(("yes" if report.is_sealed else "no") if report else "",),
        *(report.versions.engine_digest[:12] if report else "",),
        *(f"{report.versions.course} {report.versions.course_digest[:12]}" if report else "",),
    ]


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
    if each.counted and each.counted.grading and each.counted.grading.report:
        reasons += _of_zeros(each.counted.grading.report)
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
    report = each.counted.grading.report if each.counted and each.counted.grading else None
    by_name = {part.name: part for part in report.parts} if report else {}
    cells = []
    for name in parts:
        part = by_name.get(name)
        cells += [written(part.points), part.verdict.value] if part else ["", ""]
    return cells


def _points(points: float | None) -> str:
    return "" if points is None else written(round(points, 6))
