"""The gradebook: a CSV with a line for each student, raw and final score, and the reasons."""

from collections.abc import Sequence

from grader.addons.classroom.class_folder import Pseudonyms
from grader.addons.classroom.standing import Standing
from grader.addons.classroom.tables import table_text
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
