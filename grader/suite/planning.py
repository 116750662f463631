"""What a suite will ask for, found out by running its tests without ranks."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.recording.launch_plan import LaunchPlan
from grader.suite.launch_results import Launch
from grader.suite.mode import Asked, SuiteMode
from grader.suite.part_context import PartContext
from grader.suite.plan import plan_of
from grader.suite.session import run_pytest


def plans_of(suite: Path, context: PartContext) -> Mapping[str, LaunchPlan]:
    """Return the plans of a suite in the order in which it will ask for them.

    By what `repr` says of each `run`: the classes of its cases are made anew each time that a suite
    is read. There may be more: what a test asks for after it has looked at answers is not known.
    """
    plans: dict[str, LaunchPlan] = {}

    def plan(asked: Asked) -> None:
        plans[repr(asked)] = plan_of(context, asked)

    run_pytest(suite, PlanningMode(plan))
    return plans


class PlanningMode(SuiteMode):
    """Tells what the tests ask for, and gives them no case to look at."""

    def __init__(self, on_asked: Callable[[Asked], None]) -> None:
        super().__init__()
        self._on_asked = on_asked

    def launch(self, item: pytest.Item, asked: Asked) -> Launch:
        """Tell it."""
        self._on_asked(asked)
        return NoLaunch(asked.cases, (), frozenset(), asked.ranks)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Run every test, whatever became of those it requires."""

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Let Ctrl-C through, for which pytest would end its session only."""
        # Not of a file that cannot be read, for which pytest raises a subclass.
        if type(excinfo.value) is KeyboardInterrupt:
            raise excinfo.value


class NoLaunch(Launch):
    """A launch that never took place: a test goes on as if it had looked at every case."""

    def having(self, **_: Any) -> "NoLaunch":
        """Return itself, whatever is asked for."""
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())
