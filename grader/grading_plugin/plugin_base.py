"""What both modes of a suite share: the `run` fixture, its memory, and `requires`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import pytest

from grader.grading_plugin.case import Case
from grader.grading_plugin.launch_results import CaseNotRun, Launch
from grader.grading_plugin.marks import (
    TestNotRun,
    function_of,
    make_marks_known,
    part_of,
    required_by,
    sentence_of,
    suite_of,
)
from grader.grading_plugin.relaunch import Answer
from grader.model.errors import GraderError
from grader.trace.call_formatting import listed


class Asked(NamedTuple):
    """A `run` of a test; two that are equal are one launch."""

    part: str
    suite: str
    """The name of its file, without the suffix."""
    ranks: int
    cases: tuple[Case, ...]
    standalone: bool = False
    """The submission starts MPI or torch.distributed itself, as a program of its own."""
    backend: str | None = None
    """Instead of the part's."""


class SuiteMode(ABC):
    """A pytest plugin that gives the tests of a suite their `run`."""

    def __init__(self) -> None:
        self._launches: dict[Asked, Launch] = {}
        self._titles: dict[str, str] = {}
        """Of each function of the suite, as reports show it."""
        self._failed_because_of: dict[str, str] = {}
        """Each function that did not hold, with the one at the root of it."""
        self._skipped: set[str] = set()
        """Those of them that were not run."""
        self._left_out: set[str] = set()
        """Functions of the suite that nobody asked for."""
        self._asked: set[str] = set()
        """Tests that have called `run`."""
        self._read: set[str] = set()
        """Those of them that have looked at what came back."""
        self._seen_attempts: set[str] = set()
        """Those of them that have looked at a case in which ranks did something."""
        self._never_run: dict[str, str] = {}
        """Tests that have asked for a launch of which no case was put to ranks, each with why."""

        self.on_case: Callable[[int, Case, Answer], None] = lambda ranks, case, answer: None
        """Is told each case that a test looks at."""

    @pytest.fixture
    def run(self, request: pytest.FixtureRequest) -> Callable[..., Launch]:
        """Return `run(ranks, cases, standalone=False, backend=None)`: one launch for each call."""
        return partial(self._run, request.node)

    def _run(
        self,
        item: pytest.Item,
        ranks: int,
        cases: tuple[Case, ...],
        standalone: bool = False,
        backend: str | None = None,
    ) -> Launch:
        asked = Asked(part_of(item), suite_of(item), ranks, cases, standalone, backend)
        if asked not in self._launches:
            self._launches[asked] = self.launch(item, asked)
        self._asked.add(item.nodeid)
        if why := self._launches[asked].why_never_run:
            self._never_run.setdefault(item.nodeid, why)
        read = partial(self._read.add, item.nodeid)
        seen = partial(self._seen_attempts.add, item.nodeid)
        launch = self._launches[asked]
        return replace(launch, on_read=read, on_case=self.on_case, on_attempt=seen)

    @abstractmethod
    def launch(self, item: pytest.Item, asked: Asked) -> Launch:
        """Put the cases to ranks."""

    def pytest_configure(self, config: pytest.Config) -> None:
        """Make the marks of a suite known."""
        make_marks_known(config)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember which test functions there are."""
        self.remember(session.items)

    def remember(self, items: Iterable[pytest.Item]) -> None:
        """Remember test functions, and their titles, as those that others may require."""
        self._titles.update((function_of(item), sentence_of(item).rstrip(".")) for item in items)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip what requires a test that did not hold."""
        required = required_by(item)
        for name in required:
            if name not in self._titles.keys() | self._left_out:
                raise GraderError(f"{item.name} requires {name}, which is not in the suite")
        # What nobody asked to be run decides nothing.
        required = tuple(name for name in required if name not in self._left_out)
        if required and all(name in self._failed_because_of for name in required):
            roots = dict.fromkeys(self._failed_because_of[name] for name in required)
            is_skipped = set(roots) <= self._skipped
            checks = listed(f'"{self._titles[name]}"' for name in roots)
            what = "did not run" if is_skipped else "failed"
            raise TestNotRun(f"{checks} {what}", tuple(roots))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Drop the launches of a file with its last test: no test of another one can ask for them.

        Which tests of the same file will is known to nobody before they have run.
        """
        if nextitem is None or nextitem.path != item.path:
            self._launches.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """Raise GraderError for a test that asked for outcomes and looked at none."""
        result = yield
        if pyfuncitem.nodeid in self._asked - self._read:
            raise GraderError(f"{pyfuncitem.name} checked no outcome, so it would always pass")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Remember which functions did not hold."""
        report = yield
        if call.excinfo is not None and not _needs_more_ranks(call.excinfo.value):
            name = function_of(item)
            roots = (self._failed_because_of.get(each, name) for each in required_by(item))
            self._failed_because_of.setdefault(name, next(roots, name))
            if isinstance(call.excinfo.value, CaseNotRun | pytest.skip.Exception):
                self._skipped.add(name)
            else:
                self._skipped.discard(name)
        return report


def _needs_more_ranks(error: BaseException) -> bool:
    """Return whether a test was skipped only because this job has too few ranks."""
    return isinstance(error, pytest.skip.Exception) and not isinstance(error, TestNotRun)
