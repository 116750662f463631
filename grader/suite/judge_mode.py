"""The suite in the judge: `run` starts mpirun, and each test's exception becomes a verdict."""

import traceback
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from grader.data import Data
from grader.errors import GraderError
from grader.judge.findings import BudgetExceeded, NotProven, RuleViolation
from grader.model import RunFailure, TestResult, Verdict
from grader.runner.plan import Launched, Limits, Plan
from grader.suite.case import Case
from grader.suite.inputs import case_calls
from grader.suite.launch_view import Launch, RunFailed, make_launch
from grader.suite.mode import NOT_RUN, SuiteMode, function_of, words

_ENDS_THE_PART = {
    Verdict.DEADLOCK,
    Verdict.TIME_LIMIT_EXCEEDED,
    Verdict.MEMORY_LIMIT_EXCEEDED,
    Verdict.OUTPUT_LIMIT_EXCEEDED,
    Verdict.NOT_ATTEMPTED,
}


@dataclass(frozen=True)
class Grading:
    """One part of one submission under one suite."""

    assignment: str
    part: str
    entry: str
    world: str
    probes: str
    limits: Limits
    submission: Mapping[str, bytes]
    support: Mapping[str, bytes]
    secret: bytes
    launch: Callable[[Plan], Launched]
    own_part_replaced: str | None = None
    """The part whose file is our stand-in in this grading."""
    progress: Callable[[str], None] = field(default=lambda text: None)
    data: Data = field(default_factory=Data)
    """The images that inputs may be made of."""


class JudgeMode(SuiteMode):
    """The pytest plugin of one grading; read `results()` after the session."""

    def __init__(self, grading: Grading) -> None:
        super().__init__()
        self._grading = grading
        self._ended: RunFailure | None = None
        self._tests: dict[str, list[pytest.Item]] = {}
        self._failed: dict[str, TestResult] = {}
        self._passed: dict[str, int] = {}
        self.num_launches = 0
        self.problems: list[str] = []

    def launch(
        self,
        item: pytest.Item,
        ranks: int,
        cases: tuple[Case, ...],
        genuine: bool,
        world: str | None,
    ) -> Launch:
        """Start the ranks, unless the part has already ended.

        Raises GraderError when the machine cannot.
        """
        if self._ended is not None:
            if all(failed.verdict is not self._ended.verdict for failed in self._failed.values()):
                # It ended in a case that no test has looked at yet: somebody has to say so.
                raise RunFailed(self._ended)
            raise pytest.skip.Exception(
                f"{NOT_RUN}the part had already ended with {self._ended.verdict.value}"
            )
        grading = self._grading
        grading.progress(f"{grading.part}: {ranks} rank{'s' if ranks > 1 else ''}")
        calls = case_calls(
            cases,
            ranks,
            secret=grading.secret,
            assignment=grading.assignment,
            part=grading.part,
            data=grading.data,
        )
        launched = grading.launch(
            Plan(
                ranks=ranks,
                cases=calls,
                probes=grading.probes,
                world=world or grading.world,
                genuine=genuine,
                entry=grading.entry,
                submission=grading.submission,
                support=grading.support,
                limits=grading.limits,
            )
        )
        self.num_launches += 1
        failure = launched.failure
        # Code that cannot even answer the first case of all will not do better on more ranks.
        hopeless = self.num_launches == 1 and not launched.outcomes
        view = make_launch(cases, launched.outcomes, failure, ranks)
        if failure is not None and (hopeless or failure.verdict in _ENDS_THE_PART):
            self._ended = view.told_failure()
        return view

    def pytest_configure(self, config: pytest.Config) -> None:
        """Make the marks of a suite known; `mpi` is pytest-mpi's, which is not loaded here."""
        for mark in ("mpi", "part(name)", "points(number, requires, own)"):
            config.addinivalue_line("markers", mark)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember which tests there are, in the order of the file."""
        super().pytest_collection_finish(session)
        for item in session.items:
            self._tests.setdefault(function_of(item), []).append(item)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip what needs the student's own version of a part that is replaced here."""
        super().pytest_runtest_setup(item)
        replaced = self._grading.own_part_replaced
        if replaced is not None and _points(item).kwargs.get("own") == replaced:
            pytest.skip(f"{NOT_RUN}it needs your own {replaced}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Turn what a test raised into a verdict."""
        report = yield from super().pytest_runtest_makereport(item, call)
        name = function_of(item)
        if call.excinfo is not None and name not in self._failed:
            self._failed[name] = self._judge(item, call.excinfo.value, call.when)
        elif call.when == "call" and call.excinfo is None:
            self._passed[name] = self._passed.get(name, 0) + 1
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what made a suite unreadable: the grader's own failure."""
        if report.failed:
            self.problems.append(str(report.longrepr)[-2000:])

    def _judge(self, item: pytest.Item, error: BaseException, when: str) -> TestResult:
        verdict, detail = Verdict.JUDGE_ERROR, ""
        message = str(error).split("\n", 1)[0]
        if when != "call" and not isinstance(error, pytest.skip.Exception):
            detail = f"{type(error).__name__} while {when}"
        elif isinstance(error, RunFailed):
            verdict, detail = error.failure.verdict, error.failure.detail
        elif isinstance(error, RuleViolation):
            verdict = Verdict.RULE_VIOLATION
        elif isinstance(error, BudgetExceeded):
            verdict = Verdict.TIME_LIMIT_EXCEEDED
        elif isinstance(error, NotProven):
            verdict = Verdict.NOT_PROVEN
        elif isinstance(error, AssertionError):
            verdict = Verdict.WRONG_ANSWER
        elif isinstance(error, pytest.skip.Exception) and message.startswith(NOT_RUN):
            verdict = Verdict.SKIPPED
        else:
            message = f"the grader failed: {type(error).__name__}: {message}"
            known = isinstance(error, GraderError)
            detail = str(error) if known else "".join(traceback.format_exception(error))[-4000:]
        return TestResult(
            name=function_of(item),
            sentence=_sentence(item),
            verdict=verdict,
            points=0,
            max_points=self._max_points(item),
            message=message,
            detail=detail,
            where=_parameters(item),
        )

    def _max_points(self, item: pytest.Item) -> float:
        return float(_points(item).args[0])

    def results(self) -> tuple[TestResult, ...]:
        """Return one result a test function, in the order of the suite."""
        results = []
        for name, items in self._tests.items():
            if name in self._failed:
                results.append(self._failed[name])
                continue
            complete = self._passed.get(name, 0) == len(items)
            verdict = Verdict.ACCEPTED if complete else Verdict.JUDGE_ERROR
            message = "" if complete else "the grader failed: not every parameter was run"
            maximum = self._max_points(items[0])
            results.append(
                TestResult(
                    name=name,
                    sentence=_sentence(items[0]),
                    verdict=verdict,
                    points=maximum if verdict is Verdict.ACCEPTED else 0,
                    max_points=maximum,
                    message=message,
                )
            )
        return tuple(results)


def _points(item: pytest.Item) -> pytest.Mark:
    mark = item.get_closest_marker("points")
    if mark is None:
        raise GraderError(f"{item.name} has no points; mark it with @points(number)")
    return mark


def _sentence(item: pytest.Item) -> str:
    text = getattr(item.obj, "__doc__", None) or words(function_of(item))  # type: ignore[attr-defined]
    return " ".join(text.strip().split("\n\n")[0].split())


def _parameters(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    parameters = callspec.params if callspec is not None else {}
    return ", ".join(f"{name}={value}" for name, value in parameters.items())
