"""The words a suite uses beside pytest's own: which part it grades, what a test is worth."""

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from grader.model.points import checked


class TestNotRun(pytest.skip.Exception):  # type: ignore[misc,name-defined,unused-ignore]
    """A test is not run, because of what others or itself have found of the submission."""

    is_for_failures = True
    """It would have been run if others had held."""

    def __init__(self, reason: str, blocked_by: tuple[str, ...] = ()) -> None:
        """blocked_by: the tests that failed, without which this one says nothing."""
        super().__init__(f"not run: {reason}")
        self.blocked_by = blocked_by


class TestNotAskedFor(TestNotRun):
    """A test is not run whatever others have found."""

    is_for_failures = False


MARKS = ("part(name)", "points(number, requires, own)", "stage(number, own)")
"""For pytest, which is told all marks that there are."""


def part(name: str) -> pytest.MarkDecorator:
    """Return the mark that says which part of the assignment the tests of a module grade."""
    return pytest.mark.part(name)


def points(
    number: float,
    requires: Callable[..., Any] | tuple[Callable[..., Any], ...] = (),
    own: str | None = None,
) -> pytest.MarkDecorator:
    """Return the mark that gives a test function its points: all its parameters, or nothing.

    requires: test functions above; this one is run only where at least one of them held, and pays
    nothing otherwise. None of them: it always is.
    own: a part this test can only hold with the student's own version of; not paid when the part
    under test is graded again on our version of that part. Raises ValueError for a number that is
    none of points: see grader.model.points.
    """
    functions = requires if isinstance(requires, tuple) else (requires,)
    names = tuple(function.__name__ for function in functions)
    return pytest.mark.points(checked(number), requires=names, own=own)


def stage(number: float, own: str | None = None) -> pytest.MarkDecorator:
    """Return the mark of a stage: if its test passes, the part is paid at least this number.

    A stage has no own points, and stands below all tests with points. It is asked only where
    these have come to fewer than the number. It says what the calls show of code whose results are
    wrong, missing or cut short. Where it does not hold, or has seen no case, nothing is lost.
    own: as of `points`. Raises ValueError for a number that is none of points.
    """
    return pytest.mark.stage(checked(number), own=own)


def not_run(reason: str) -> NoReturn:
    """End a test that does not apply: it counts as not run, and pays nothing."""
    raise TestNotRun(reason)
