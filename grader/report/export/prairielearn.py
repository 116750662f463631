"""The report as `results.json` of a PrairieLearn external grader.

PrairieLearn makes HTML of all text; only escape sequences of terminals do more than show there.
Fields and their meaning: PrairieLearn's documentation, "External grading", "Grading results".
"""

from grader.model.report import Report
from grader.report.export import plain_text
from grader.report.json_text import dump, number
from grader.report.platform_marks import cases, has_mark, why_no_mark

_MAX_NUM_BYTES = 900_000
"""PrairieLearn takes no file of more than 1 MB."""


def render(report: Report) -> str:
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
