"""The report as Gradescope's `results.json`.

Fields and their meaning: gradescope-autograders.readthedocs.io, "Autograder Specifications". All
text has the format `text`, which Gradescope shows as it is.
"""

from grader.model import Report, TestResult, Verdict
from grader.report.export import told
from grader.report.export.marks import cases, require_mark
from grader.report.feedback import result_for_student
from grader.report.json_text import dump, number


def render(report: Report) -> str:
    """Return the JSON. Raises GraderError for a report without a mark.

    A run that leaves no file fails, and gives no score; each file with a score is a mark.
    """
    require_mark(report, "Gradescope")
    return dump(
        {
            "score": number(report.score or 0),
            "execution_time": round(report.wall_time_s),
            "output": told.summary(report),
            "output_format": "text",
            "test_output_format": "text",
            "test_name_format": "text",
            "stdout_visibility": "hidden",
            "tests": [
                {
                    "name": told.name_of(part, test),
                    "score": number(test.points),
                    "max_score": number(test.max_points),
                    "status": "passed" if test.verdict is Verdict.ACCEPTED else "failed",
                    "output": told.output(test),
                    "visibility": _visibility(test),
                }
                for part in report.parts
                for test in cases(part)
            ],
        }
    )


def _visibility(test: TestResult) -> str:
    """Return who may see a test: a hidden one after the due date, instructors alone all of it."""
    if not test.is_hidden:
        return "visible"
    return "after_due_date" if test == result_for_student(test) else "hidden"
