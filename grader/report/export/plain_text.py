"""What a platform shows of a test: plain text, in which nothing is active."""

from collections.abc import Iterator

from grader.model.report import PartResult, Report, TestResult, Verdict
from grader.report.safe_text import disarm, one_line, visible_lines
from grader.report.totals import points_text, score_sentence


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
        for found in part.notes:
            yield f"note on {one_line(part.name)}: {one_line(str(found))}"
    for note in report.notes:
        yield f"note: {one_line(note)}"
