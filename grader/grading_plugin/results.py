"""What a test of a suite comes to: its exception becomes a verdict."""

import math
import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from grader.grading_plugin.launch_results import CaseNotRun, RunFailed
from grader.grading_plugin.marks import TestNotRun, function_of, points_of, sentence_of, stage_of
from grader.grading_plugin.part_context import PartContext
from grader.judge.check_failures import (
    BudgetExceeded,
    CheckFailure,
    NotProven,
    RuleViolation,
    WrongAnswer,
)
from grader.model.errors import GraderError
from grader.model.finding import Finding, found
from grader.model.plural import counted
from grader.model.points import total, written
from grader.model.report import Feedback, TestResult, Verdict

_RANKS = re.compile(r"\b(\d{1,4}) ranks?\b")
"""How a message tells that it is about a run on so many ranks."""
_VERDICTS: tuple[tuple[type[CheckFailure], Verdict], ...] = (
    (RuleViolation, Verdict.RULE_VIOLATION),
    (BudgetExceeded, Verdict.TIME_LIMIT_EXCEEDED),
    (NotProven, Verdict.NOT_PROVEN),
    (WrongAnswer, Verdict.WRONG_ANSWER),
)


def failed(item: pytest.Item, error: BaseException, when: str) -> TestResult:
    """Return what an exception in a test says of the submission, or of the grader.

    when: "setup", "call" or "teardown". Raises GraderError when the test has no points.
    """
    message = _first_line(error)
    skipped = isinstance(error, pytest.skip.Exception)
    if when != "call" and not skipped:
        detail = f"{type(error).__name__} during {when}"
        return result_of(item, Verdict.JUDGE_ERROR, message, detail, _parameters(item))
    where = _parameters(item, besides=message)
    if isinstance(error, RunFailed):
        failure = error.failure
        result = result_of(item, failure.verdict, message, failure.detail, where)
        return replace(result, findings=_keyed(item, failure.findings), case=failure.case)
    for kind, verdict in _VERDICTS:
        if isinstance(error, kind):
            result = result_of(item, verdict, message, where=where)
            return replace(result, findings=_keyed(item, error.findings), case=error.case)
    if _is_assertion_of_suite(item, error):
        result = result_of(item, Verdict.WRONG_ANSWER, message, where=where)
        return replace(result, findings=_keyed(item, [Finding("", message)]))
    # Nothing has failed there, so there is no place where it did.
    if isinstance(error, CaseNotRun):
        return result_of(item, Verdict.SKIPPED, str(TestNotRun(message)))
    if isinstance(error, TestNotRun):
        result = result_of(item, Verdict.SKIPPED, message)
        return replace(result, blocked_by=error.blocked_by)
    message = f"the grader failed{_place(item, error)}: {type(error).__name__}: {message}"
    known = isinstance(error, GraderError)
    detail = str(error) if known else "".join(traceback.format_exception(error))[-4000:]
    return result_of(item, Verdict.JUDGE_ERROR, message, detail, _parameters(item))


def _keyed(item: pytest.Item, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings; one that names no cause has the name of its test for a key."""
    name = function_of(item).removeprefix("test_")
    return tuple(each if each.key else replace(each, key=name) for each in findings)


def _place(item: pytest.Item, error: BaseException) -> str:
    """Return ` at test_sum.py:75`, the innermost line of the suite; empty where none has raised."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [each for each in frames if Path(each.filename).parent == item.path.parent]
    return f" at {Path(theirs[-1].filename).name}:{theirs[-1].lineno}" if theirs else ""


def _first_line(error: BaseException) -> str:
    if isinstance(error, pytest.FixtureLookupError):  # which has its words from nothing but itself
        return (
            f"the test has an argument {error.argname}, which is not a fixture; expected `run` "
            "or a parameter of the test"
        )
    return str(error).split("\n", 1)[0]


def _is_assertion_of_suite(item: pytest.Item, error: BaseException) -> bool:
    """Return whether an `assert` of the suite itself failed; the engine's own are its own fault."""
    if type(error) is not AssertionError:
        return False
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    return Path(innermost.filename).parent == item.path.parent


def result_of(
    item: pytest.Item, verdict: Verdict, message: str = "", detail: str = "", where: str = ""
) -> TestResult:
    """Return the result of a test function: all of its points for ACCEPTED, else none."""
    max_points = float(points_of(item).args[0]) if stage_of(item) is None else 0.0
    return TestResult(
        name=function_of(item),
        sentence=sentence_of(item),
        verdict=verdict,
        points=max_points if verdict is Verdict.ACCEPTED else 0,
        max_points=max_points,
        message=message,
        detail=detail,
        where=where,
    )


def leaving_the_judge(result: TestResult, context: PartContext) -> TestResult:
    """Return what may leave the judge of a result, with how much of it its student is told."""
    level = context.feedback
    if context.is_hidden and level is Feedback.VERDICT and not context.settings.shows_hidden:
        return result.redacted()
    return replace(result, is_hidden=context.is_hidden, feedback=level)


def _parameters(item: pytest.Item, besides: str = "") -> str:
    """Return the parameters of a test, without a number of ranks where the message has another."""
    callspec = getattr(item, "callspec", None)
    parameters = dict(callspec.params) if callspec is not None else {}
    told = set(map(int, _RANKS.findall(besides)))
    if told and parameters.get("ranks") not in told:
        parameters.pop("ranks", None)
    texts = (
        counted(value, "rank") if name == "ranks" else f"{name}={value}"
        for name, value in parameters.items()
    )
    return ", ".join(texts)


_MICRO = 10**6
"""Points have at most six decimals."""
_QUARTER = _MICRO // 4
"""No finer than this, where all points of a suite are such."""


@dataclass(frozen=True)
class Stage:
    """A stage that holds."""

    points: float
    title: str
    """What the code does, in the words a student reads."""


def paid(
    tests: Sequence[TestResult], stages: Iterable[Stage]
) -> tuple[tuple[TestResult, ...], tuple[Finding, ...]]:
    """Return the tests of a part with what the stage of most points pays, and a note that says so.

    No failed test is paid in full. Where the grader itself has failed there is no mark, so nothing
    is paid.
    """
    best = max(stages, key=lambda stage: stage.points, default=None)
    before = total(test.points for test in tests)
    is_lost = any(test.verdict is Verdict.JUDGE_ERROR for test in tests)
    if best is None or best.points <= before or is_lost:
        return tuple(tests), ()
    filled = tuple(_filled(tests, best.points))
    after = total(test.points for test in filled)
    if after == before:
        return filled, ()
    maximum = total(test.max_points for test in tests)
    note = found(
        "stage.paid",
        f"you get at least {written(after)} of {written(maximum)} points, "
        f"because your code {best.title}",
        points=after,
        shown=best.title,
    )
    return filled, (note,)


def _filled(tests: Sequence[TestResult], points: float) -> list[TestResult]:
    """Return the tests with so many points together, as far as failed ones have room for them."""
    lost = [_exact(test.max_points) - _exact(test.points) for test in tests]
    missing = _exact(points) - sum(_exact(test.points) for test in tests)
    unit = math.gcd(_QUARTER, missing, *lost)
    shares = _shares([each // unit for each in lost], missing // unit)
    return [
        replace(test, points=total((test.points, share * unit / _MICRO))) if share else test
        for test, share in zip(tests, shares, strict=True)
    ]


def _shares(lost: Sequence[int], missing: int) -> list[int]:
    """Return what each is given: in proportion to its loss, and one less than that at most."""
    whole = sum(lost)
    shares = [min(missing * each // (whole or 1), max(each - 1, 0)) for each in lost]
    by_rest = sorted(
        range(len(lost)), key=lambda i: (-(missing * lost[i] % (whole or 1)), -lost[i])
    )
    while left := missing - sum(shares):
        open_ones = [i for i in by_rest if shares[i] < lost[i] - 1][:left]
        if not open_ones:
            break
        for index in open_ones:
            shares[index] += 1
    return shares


def _exact(points: float) -> int:
    return round(points * _MICRO)
