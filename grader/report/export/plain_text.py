"""What a platform shows of a report: plain text, and points that are a mark, or none at all."""

from collections.abc import Iterator

from grader.model.errors import GraderError
from grader.model.points import NOT_ALL_TESTS, UNPROTECTED, points_text, total
from grader.model.report import PartResult, Report, TestResult, Verdict
from grader.report.safe_text import disarm, one_line, visible_lines
from grader.report.words import score_sentence


def name_of(part: PartResult, test: TestResult) -> str:
    """Return what a test is called on a platform, where the tests of all parts are one list."""
    if test.name == part.name:
        return one_line(part.name)
    return f"{one_line(part.name)}: {one_line(test.name).removeprefix('test_').replace('_', ' ')}"


def sentence(test: TestResult) -> str:
    """Return in one line what a test asks for."""
    return disarm(one_line(test.sentence))


def reason(test: TestResult) -> str:
    """Return in one line why a test has not held; empty where it has."""
    if test.verdict is Verdict.ACCEPTED:
        return ""
    message = one_line(test.message)
    verdict = test.verdict.value
    where = f" ({one_line(test.where)})" if test.where else ""
    return f"{verdict}: {message}{where}" if message and message != verdict else verdict


def printed(test: TestResult) -> str:
    """Return the lines of tracebacks and of what was printed."""
    return "\n".join(map(disarm, visible_lines(test.detail))) if test.detail else ""


def output(test: TestResult) -> str:
    """Return in lines what a test asks for, why it has not held, and what was printed."""
    lines = (sentence(test), reason(test), printed(test))
    return "\n".join(line for line in lines if line)


def summary(report: Report) -> str:
    """Return in lines what is to be said of the report as a whole."""
    return "\n".join(map(disarm, _summary(report)))


def _summary(report: Report) -> Iterator[str]:
    yield score_sentence(report)
    for manual in report.manual_parts:
        points = points_text(manual.max_points)
        yield f"{one_line(manual.title)}: {points} pending, {one_line(manual.found)}"
    for part in report.parts:
        for found in part.further_notes:
            yield f"note on {one_line(part.name)}: {one_line(str(found))}"
    for note in report.notes:
        if not note.startswith(UNPROTECTED):
            yield f"note: {one_line(note)}"


def has_mark(report: Report) -> bool:
    """Return whether points are a mark: of all tests, without a failure of ours or a doubt."""
    return report.score is not None and not report.review and NOT_ALL_TESTS not in report.notes


def why_no_mark(report: Report) -> str:
    """Return in a sentence or two why the points of a report are no mark."""
    return NOT_ALL_TESTS if NOT_ALL_TESTS in report.notes else score_sentence(report)


def require_mark(report: Report, platform: str) -> None:
    """Raise GraderError for a report without a mark, where a platform cannot be told so."""
    if not has_mark(report):
        raise GraderError(
            f"{platform} would show the score as a mark, so no file was written: "
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
