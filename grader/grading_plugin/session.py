"""One pytest session in the judge's own process: one suite file, one grading."""

import contextlib
import io
import os
import re
import sys
import time
import traceback
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.grading_plugin.grading_mode import JudgeMode
from grader.grading_plugin.launch_results import Launch, never_run
from grader.grading_plugin.marks import (
    function_of,
    make_marks_known,
    part_of,
    points_of,
    sentence_of,
    stage_of,
)
from grader.grading_plugin.part_context import PartContext
from grader.grading_plugin.plugin_base import Asked, SuiteMode
from grader.model.errors import GraderError
from grader.model.finding import Finding
from grader.model.report import TestResult
from grader.model.spelling import did_you_mean

_LEFT_OUT = (
    *("cacheprovider", "debugging", "doctest", "faulthandler", "junitxml", "legacypath", "logging"),
    *("pastebin", "setuponly", "setupplan", "stepwise", "subtests", "threadexception", "unittest"),
    # Looks through all the memory there is when it ends, for errors that no suite is about.
    "unraisableexception",
)
"""Pytest's own plugins that no suite needs. To load and to ask them takes time in each grading."""


@dataclass(frozen=True)
class SuiteResult:
    """What a suite found."""

    tests: tuple[TestResult, ...]
    num_launches: int
    has_ended: bool
    """A run ended such that no further one was worth starting."""
    refusals: tuple[str, ...] = ()
    """What was refused to ranks that went on all the same, in sentences."""
    remarks: tuple[Finding, ...] = ()
    """On lines of the submission that cost nothing, in sentences."""
    notes: tuple[Finding, ...] = ()
    """On what a stage pays."""


def grade_suite(suite: Path, context: PartContext) -> SuiteResult:
    """Run the suite against the context's submission. Raises GraderError, GradingLost."""
    plugin, unreadable = JudgeMode(context), Unreadable(suite)
    code, said = run_pytest(suite, plugin, unreadable)
    if plugin.lost is not None:
        raise plugin.lost
    if code == pytest.ExitCode.INTERRUPTED and not unreadable.sentences:
        raise KeyboardInterrupt
    ended = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
    if not context.settings.selection.is_whole:
        ended.add(pytest.ExitCode.NO_TESTS_COLLECTED)
    if code not in ended or unreadable.sentences:
        reason = unreadable.why(code, said)
        raise GraderError(f"the suite {suite.name} could not be run: {reason}")
    tests, notes = plugin.results()
    return SuiteResult(
        tests,
        plugin.num_launches,
        plugin.has_ended,
        tuple(plugin.refusals),
        tuple(plugin.remarks.values()),
        notes,
    )


def run_pytest(suite: Path, *plugins: object, options: Sequence[str] = ()) -> tuple[int, str]:
    """Run the tests of a suite file with these plugins; return the exit code and what was said."""
    arguments = [
        str(suite),
        *("-c", os.devnull, "--rootdir", str(suite.parent), "--confcutdir", str(suite.parent)),
        *(option for name in _LEFT_OUT for option in ("-p", f"no:{name}")),
        # The other styles make a text of all arguments of each function, such as a whole trace.
        *("-q", "--strict-markers", "--capture=no", "--tb=native"),
        *options,
    ]
    said = io.StringIO()
    with alone(suite.parent), contextlib.redirect_stdout(said):
        code = pytest.main(arguments, plugins=[*plugins])
    return code, said.getvalue()


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Make a folder the current one: pytest enters the one it was started in, which we may not.

    So in a container without rights over the submission, and where a folder has been removed.
    """
    before = -1
    with contextlib.suppress(OSError):
        before = os.open(".", os.O_PATH | os.O_CLOEXEC)
    os.chdir(folder)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.fchdir(before)
        if before >= 0:
            os.close(before)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep installed plugins, the user's pytest settings and other suites' modules out."""
    settings = {name: os.environ.pop(name, None) for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")}
    settings["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    path, keeps_none = list(sys.path), sys.dont_write_bytecode
    sys.dont_write_bytecode = keeps_none or _was_just_edited(folder)
    try:
        with _working_in(folder):
            yield
    finally:
        sys.path[:], sys.dont_write_bytecode = path, keeps_none
        for name, value in settings.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        # Of a thousand modules: paths would take longer than many a suite.
        below = os.path.join(folder, "")  # noqa: PTH118
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(below):
                del sys.modules[name]


_SETTLED_S = 2.0


def _was_just_edited(folder: Path) -> bool:
    """Return whether a later edit of a suite could look like what is there now.

    Python tells by size and whole seconds whether bytecode is that of a file.
    """
    edited = 0.0
    for file in folder.rglob("*.py"):
        # It may go away meanwhile, and links of editors lead nowhere.
        with contextlib.suppress(FileNotFoundError):
            edited = max(edited, file.lstat().st_mtime)
    return edited > time.time() - _SETTLED_S


_NO_NAME = re.compile(r"cannot import name '([^']+)' from '([^']+)'")
_MAX_SHOWN_CHARS = 60


class Unreadable:
    """A pytest plugin that keeps why a suite could not be collected."""

    def __init__(self, suite: Path) -> None:
        self._suite = suite
        self.sentences: list[str] = []

    def pytest_exception_interact(
        self, call: pytest.CallInfo[None], report: pytest.CollectReport | pytest.TestReport
    ) -> None:
        """Keep what was raised while the suite was imported; what a test raises is its result."""
        if isinstance(report, pytest.CollectReport) and call.excinfo is not None:
            self.sentences.append(_sentence(call.excinfo.value, self._suite))

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Keep what pytest itself gave up at; nothing where the suite has no part in it."""
        error = excinfo.value
        if isinstance(error, GraderError) or _place(error, self._suite.parent):
            self.sentences.append(_sentence(error, self._suite))

    def why(self, code: int, printed: str) -> str:
        """Return why pytest ended with this exit code, having printed this."""
        if self.sentences:
            return self.sentences[0]
        if code == pytest.ExitCode.NO_TESTS_COLLECTED:
            return "it has no tests; expected functions whose names begin with test_"
        return printed[-2000:]


def _sentence(error: BaseException, suite: Path) -> str:
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        error = error.__cause__  # pytest's own words stand in front of it
    if isinstance(error, GraderError):
        return str(error)
    place = _place(error, suite.parent) or suite.name
    text = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        found = " ".join((error.text or "").split())[:_MAX_SHOWN_CHARS]
        return (
            f"{place} is not valid Python: {error.msg}{f', found `{found}`' if found else ''}; "
            "correct it"
        )
    if isinstance(error, ModuleNotFoundError) and error.name:
        return (
            f"{place} imports {error.name}, but no such module exists here; correct its name, "
            "or remove the import"
        )
    if isinstance(error, ImportError) and (names := _NO_NAME.match(text)):
        name, module = names.groups()
        public = [each for each in dir(sys.modules.get(module)) if not each.startswith("_")]
        hint = did_you_mean(name, public)
        is_api = module == "grader.api"
        action = "expected one that docs/api.md lists" if is_api else "correct it"
        return f"{place} imports {name} from {module}, which has no such name; {action}{hint}"
    if isinstance(error, pytest.fail.Exception | pytest.Collector.CollectError):
        return f"{place}: {text}; correct it"
    return f"{place} raises {type(error).__name__}{f': {text}' if text else ''}; correct it"


def _place(error: BaseException, folder: Path) -> str:
    """Return the line of a file in the folder that an error is about; empty for none."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    for file, line in reversed(lines):
        path = Path(file).resolve()
        if path.is_relative_to(folder.resolve()):
            name = path.relative_to(folder.resolve()).as_posix()
            return f"{name}:{line}" if line else name
    return ""


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
            name, at_least = function_of(item), stage_of(item)
            points = float(points_of(item).args[0]) if at_least is None else 0.0
            price = Price(name, points, sentence_of(item), part_of(item), at_least)
            self.prices.setdefault(name, price)


def prices(suite: Path) -> tuple[Price, ...]:
    """Return the price of each test and stage of a suite, in order. Raises GraderError."""
    collected, unreadable = _Collected(), Unreadable(suite)
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        code, said = run_pytest(suite, collected, unreadable, options=["--collect-only"])
    if code != pytest.ExitCode.OK:
        reason = unreadable.why(code, said + errors.getvalue())
        raise GraderError(f"the suite {suite.name} could not be read: {reason}")
    return tuple(collected.prices.values())


class _Asking(SuiteMode):
    def __init__(self, only: Container[str]) -> None:
        super().__init__()
        self._only = only
        self.numbers: set[int] = set()

    def launch(self, item: pytest.Item, asked: Asked) -> Launch:
        """Note the number of ranks; the test ends as soon as it looks at an outcome."""
        self.numbers.add(asked.ranks)
        why = "no ranks are started when only their number is asked for"
        return never_run(asked.cases, asked.ranks, why)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what nobody asked for."""
        if self._only:
            items[:] = [item for item in items if function_of(item) in self._only]

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Call each test, whatever it requires."""


def possible_ranks(suite: Path, only: tuple[str, ...] = ()) -> frozenset[int]:
    """Return the numbers of ranks that tests ask for; empty if they cannot be read."""
    asking = _Asking(only)
    run_pytest(suite, asking)
    return frozenset(asking.numbers)
