"""The report as its student may see it: the one place where feedback is held back.

The full report says for each test how much its student may be told. Whatever leaves for a student,
in whatever format, is made from what this returns.
"""

from dataclasses import replace

from grader.model.report import Feedback, PartResult, Report, TestResult, Verdict


def for_student(report: Report) -> Report:
    """Return the report without its seed and what its tests hold back."""
    return replace(report, parts=tuple(map(_part, report.parts)), seed="")


def result_for_student(test: TestResult) -> TestResult:
    """Return a test without what its level of feedback holds back."""
    if test.feedback.tells(Feedback.ALL):
        return test
    shown = replace(test, detail="", evidence=None)
    if test.feedback.tells(Feedback.VALUES):
        return shown
    if test.is_hidden and not test.feedback.tells(Feedback.SENTENCE):
        return test.redacted()
    shown = replace(shown, message=_message(test.verdict), where="", case="", findings=())
    if test.feedback.tells(Feedback.SENTENCE):
        return shown
    return replace(shown, sentence=test.name.removeprefix("test_").replace("_", " "))


def _part(part: PartResult) -> PartResult:
    """Return a part whose message and notes tell no more than its tests may."""
    tests = tuple(map(result_for_student, part.tests))
    told = {test.message for test in tests}
    holds_back = any(
        not test.feedback.tells(Feedback.VALUES) for test in part.tests if not test.is_hidden
    )
    message = part.message
    if message not in told and (holds_back or message in {test.message for test in part.tests}):
        message = _message(part.verdict)
    # A note may repeat why a test has not held.
    notes = () if holds_back else part.notes
    return replace(part, tests=tests, message=message, notes=notes)


def _message(verdict: Verdict) -> str:
    messages = {Verdict.ACCEPTED: "", Verdict.SKIPPED: "not run"}
    return messages.get(verdict, verdict.value)
