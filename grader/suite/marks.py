"""The words a suite uses beside pytest's own: which part it grades, what a test is worth."""

from collections.abc import Callable
from typing import Any

import pytest

from grader.points import checked


def part(name: str) -> pytest.MarkDecorator:
    """Return the mark that says which part of the assignment the tests of a module grade."""
    return pytest.mark.part(name)


def points(
    number: float, requires: Callable[..., Any] | None = None, own: str | None = None
) -> pytest.MarkDecorator:
    """Return the mark that gives a test function its points: all its parameters, or nothing.

    requires: a test function above; when it failed, this one is skipped and pays nothing.
    own: a part this test can only hold with the student's own version of; not paid when the part
    under test is graded again on our version of that part. Raises ValueError for a number that is
    none of points: see grader.points.
    """
    return pytest.mark.points(
        checked(number), requires=requires.__name__ if requires else None, own=own
    )
