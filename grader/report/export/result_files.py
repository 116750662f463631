"""The report as the file of results of Gradescope, PrairieLearn and Classroom 50.

Fields and their meaning: gradescope-autograders.readthedocs.io, "Autograder Specifications";
PrairieLearn's documentation, "External grading", "Grading results"; the page "Advanced Autograding"
of the wiki of foundation50/classroom50. All text of Gradescope's has the format `text`, which it
shows as it is. PrairieLearn makes HTML of all text; only escape sequences of terminals do more than
show there. Whose submission it is, Classroom 50's caller adds: ci/classroom50/autograder.py.
"""

import math

from grader.model.points import exact
from grader.model.report import Report, TestResult, Verdict
from grader.report.export import plain_text
from grader.report.export.plain_text import cases, has_mark, require_mark, why_no_mark
from grader.report.feedback import for_student, result_for_student
from grader.report.safe_text import dump, number


def gradescope_json(report: Report) -> str:
    """Return the JSON. Raises GraderError for a report without a mark.

    A run that leaves no file fails, and gives no score; each file with a score is a mark. Of a full
    report, what students see is what they may be told: only hidden tests have a place for more.
    """
    require_mark(report, "Gradescope")
    seen = for_student(report)
    return dump(
        {
            "score": number(report.score or 0),
            "execution_time": round(report.wall_time_s),
            "output": plain_text.summary(seen),
            "output_format": "text",
            "test_output_format": "text",
            "test_name_format": "text",
            "stdout_visibility": "hidden",
            "tests": [
                {
                    "name": plain_text.name_of(part, test),
                    "score": number(test.points),
                    "max_score": number(test.max_points),
                    "status": "passed" if test.verdict is Verdict.ACCEPTED else "failed",
                    "output": plain_text.output(test if test.is_hidden else shown),
                    "visibility": _visibility(test),
                }
                for part, seen_part in zip(report.parts, seen.parts, strict=True)
                for test, shown in zip(cases(part), cases(seen_part), strict=True)
            ],
        }
    )


def _visibility(test: TestResult) -> str:
    """Return who may see a test: a hidden one after the due date, instructors alone all of it."""
    if not test.is_hidden:
        return "visible"
    return "after_due_date" if test == result_for_student(test) else "hidden"


_MAX_NUM_BYTES = 900_000
"""PrairieLearn takes no file of more than 1 MB."""


def prairielearn_json(report: Report) -> str:
    """Return the JSON; without a mark the submission is not gradable, which costs no attempt."""
    if not has_mark(report):
        return dump({"gradable": False, "format_errors": [why_no_mark(report)]})
    text = _graded(report, with_output=True)
    return text if len(text) <= _MAX_NUM_BYTES else _graded(report, with_output=False)


def _graded(report: Report, *, with_output: bool) -> str:
    score = report.score or 0
    return dump(
        {
            "gradable": True,
            "score": score / report.max_score if report.max_score else 1.0,
            "message": plain_text.summary(report),
            "tests": [
                {
                    "name": plain_text.name_of(part, test),
                    "description": plain_text.sentence(test),
                    "points": number(test.points),
                    "max_points": number(test.max_points),
                    "message": plain_text.reason(test),
                    "output": plain_text.printed(test) if with_output else "",
                }
                for part in report.parts
                for test in cases(part)
            ],
        }
    )


def classroom50_json(report: Report) -> str:
    """Return the JSON. Raises GraderError for a report without a mark."""
    require_mark(report, "Classroom 50")
    tests = [(part, test) for part in report.parts for test in cases(part)]
    points = [number for _, test in tests for number in (test.points, test.max_points)]
    factor = math.lcm(*(exact(number).denominator for number in points))
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


def _times(points: float, factor: int) -> int:
    return int(exact(points) * factor)
