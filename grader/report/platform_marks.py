"""What a platform may be told of points: a mark, or none; never a zero in place of none."""

from grader.model.errors import GraderError
from grader.model.points import NOT_ALL_TESTS, total
from grader.model.report import PartResult, Report, TestResult, Verdict
from grader.report.totals import score_sentence


def has_mark(report: Report) -> bool:
    """Return whether the points are a mark.

    All tests were run, the grader has not failed, and no doubt is left.
    """
    return report.score is not None and not report.review and NOT_ALL_TESTS not in report.notes


def why_no_mark(report: Report) -> str:
    """Return in a sentence or two why the points of a report are no mark."""
    return NOT_ALL_TESTS if NOT_ALL_TESTS in report.notes else score_sentence(report)


def require_mark(report: Report, platform: str) -> None:
    """Raise GraderError for a report without a mark, where a platform cannot be told so."""
    if not has_mark(report):
        raise GraderError(
            f"nothing is written for {platform}, which would show it as a mark: "
            f"{why_no_mark(report)}"
        )


def cases(part: PartResult) -> tuple[TestResult, ...]:
    """Return the tests of a part, and what the whole has beyond them; their points add up.

    A part has no tests where a file is missing.
    """
    points = total((part.points, *(-test.points for test in part.tests)))
    max_points = total((part.max_points, *(-test.max_points for test in part.tests)))
    is_told = part.verdict in {Verdict.ACCEPTED, *(test.verdict for test in part.tests)}
    if part.tests and is_told and not points and not max_points:
        return part.tests
    whole = TestResult(part.name, part.title, part.verdict, points, max_points, part.message)
    return (*part.tests, whole)
