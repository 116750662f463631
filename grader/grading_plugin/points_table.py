"""What each test of a suite asks and pays, without running it."""

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.grading_plugin.collection_errors import Unreadable
from grader.grading_plugin.plugin_base import function_of, make_marks_known, part_of, stage_of
from grader.grading_plugin.results import points_of, sentence_of
from grader.grading_plugin.session import run_pytest
from grader.model.errors import GraderError


@dataclass(frozen=True)
class Price:
    """One test: what it asks, in the words a student reads, and what it is worth."""

    test: str
    points: float
    asks: str
    part: str = ""
    """The part that the suite says it grades."""
    at_least: float | None = None
    """What the part is paid at least where this holds: of a stage, which has no points."""


class _Collected:
    def __init__(self) -> None:
        self.prices: dict[str, Price] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        make_marks_known(config)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            name = function_of(item)
            self.prices.setdefault(name, _price(item))


def _price(item: pytest.Item) -> Price:
    at_least = stage_of(item)
    points = float(points_of(item).args[0]) if at_least is None else 0.0
    return Price(function_of(item), points, sentence_of(item), part_of(item), at_least)


def prices(suite: Path) -> tuple[Price, ...]:
    """Return the price of each test and stage of a suite, in its order.

    Raises GraderError when pytest cannot collect the suite, or a test has no points.
    """
    collected, unreadable = _Collected(), Unreadable(suite)
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        code, said = run_pytest(suite, collected, unreadable, options=["--collect-only"])
    if code != pytest.ExitCode.OK:
        reason = unreadable.why(code, said + errors.getvalue())
        raise GraderError(f"the suite {suite.name} could not be read: {reason}")
    return tuple(collected.prices.values())
