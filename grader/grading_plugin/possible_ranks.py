"""On how many ranks the tests of a suite run, found by calling them without starting any."""

from collections.abc import Container
from pathlib import Path

import pytest

from grader.grading_plugin.launch_results import Launch, never_run
from grader.grading_plugin.marks import function_of
from grader.grading_plugin.plugin_base import Asked, SuiteMode
from grader.grading_plugin.session import run_pytest


class _Asking(SuiteMode):
    def __init__(self, only: Container[str]) -> None:
        super().__init__()
        self._only = only
        self.numbers: set[int] = set()

    def launch(self, item: pytest.Item, asked: Asked) -> Launch:
        """Note the number of ranks; the test ends as soon as it looks at an outcome."""
        self.numbers.add(asked.ranks)
        return never_run(asked.cases, asked.ranks, "no ranks are started to find their number")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what nobody asked for."""
        if self._only:
            items[:] = [item for item in items if function_of(item) in self._only]

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Call each test, whatever it requires."""


def possible_ranks(suite: Path, only: tuple[str, ...] = ()) -> frozenset[int]:
    """Return the numbers of ranks that tests of a suite ask for; empty if it cannot be read.

    only: names of the tests to call, all if empty.
    """
    asking = _Asking(only)
    run_pytest(suite, asking)
    return frozenset(asking.numbers)
