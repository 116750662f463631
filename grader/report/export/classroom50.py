"""The report as the part of Classroom 50's `result.json` that is about the grading.

Its contract: the page "Advanced Autograding" of the wiki of foundation50/classroom50. Whose
submission it is, the caller adds: ci/classroom50/autograder.py.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

from grader.model.report import Report, Verdict
from grader.report.export import plain_text
from grader.report.json_text import dump
from grader.report.platform_marks import cases, require_mark


def render(report: Report) -> str:
    """Return the JSON. Raises GraderError for a report without a mark.

    Points are integers there: all are multiplied by the least factor that makes them so.
    """
    require_mark(report, "Classroom 50")
    tests = [(part, test) for part in report.parts for test in cases(part)]
    factor = _factor(number for _, test in tests for number in (test.points, test.max_points))
    rows = [
        {
            "test-name": plain_text.name_of(part, test),
            "passed": test.verdict is Verdict.ACCEPTED,
            "score": _times(test.points, factor),
            "max-score": _times(test.max_points, factor),
            "message": plain_text.reason(test),
        }
        for part, test in tests
    ]
    return dump(
        {
            "schema": "classroom50/result/v1",
            "datetime": report.started_at,
            "score": sum(_times(test.points, factor) for _, test in tests),
            "max-score": sum(_times(test.max_points, factor) for _, test in tests),
            "tests": rows,
        }
    )


def _factor(points: Iterable[float]) -> int:
    return math.lcm(*(_exact(number).denominator for number in points))


def _times(points: float, factor: int) -> int:
    return int(_exact(points) * factor)


def _exact(points: float) -> Fraction:
    return Fraction(repr(float(points)))
