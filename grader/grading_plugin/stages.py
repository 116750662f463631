"""Stages: what a part is paid at least for what its calls show, where results are wrong or missing.

A stage has no points of its own. What it pays beyond the tests that hold is shown on the others, in
proportion to what each has lost.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from grader.model.finding import Finding, found
from grader.model.points import total, written
from grader.model.report import TestResult, Verdict

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
    """Return the tests of a part with what the dearest stage pays, and a note that says so.

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
        f"at least {written(after)} of {written(maximum)} points {'is' if after == 1 else 'are'} "
        f"paid, because your code {best.title}",
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
