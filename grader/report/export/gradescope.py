"""The report as Gradescope's `results.json`.

Fields and their meaning: gradescope-autograders.readthedocs.io, "Autograder Specifications". All
text has the format `text`, which Gradescope shows as it is.
"""

from grader.model.report import Report, TestResult, Verdict
from grader.report.export import plain_text
from grader.report.feedback import for_student, result_for_student
from grader.report.json_text import dump, number
from grader.report.platform_marks import cases, require_mark


def render(report: Report) -> str:
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
