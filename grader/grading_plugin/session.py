"""One pytest session in the judge's own process: one suite file, one grading."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.grading_plugin.collection_errors import Unreadable
from grader.grading_plugin.grading_mode import JudgeMode
from grader.grading_plugin.part_context import PartContext
from grader.model.errors import GraderError
from grader.model.finding import Finding
from grader.model.report import TestResult


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
    """Run the suite against the context's submission; return its results.

    Raises GraderError when pytest itself could not run the suite, GradingLost when no other run can
    be started where we are.
    """
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
    return SuiteResult(
        plugin.results(),
        plugin.num_launches,
        plugin.has_ended,
        tuple(plugin.refusals),
        tuple(plugin.remarks.values()),
        plugin.notes(),
    )


def run_pytest(suite: Path, *plugins: object, options: Sequence[str] = ()) -> tuple[int, str]:
    """Run the tests of a suite file with these plugins; return the exit code and what was said."""
    arguments = [
        str(suite),
        *("-c", os.devnull, "--rootdir", str(suite.parent), "--confcutdir", str(suite.parent)),
        *("-p", "no:cacheprovider", "-p", "no:faulthandler", "-q"),
        # Looks through all the memory there is when it ends, for errors that no suite is about.
        *("-p", "no:unraisableexception"),
        # The other styles make a text of all arguments of each function, such as a whole trace.
        *("--strict-markers", "--capture=no", "--tb=native"),
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
    path, writes_bytecode = list(sys.path), sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        with _working_in(folder):
            yield
    finally:
        sys.path[:], sys.dont_write_bytecode = path, writes_bytecode
        for name, value in settings.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        # Of a thousand modules: paths would take longer than many a suite.
        below = os.path.join(folder, "")  # noqa: PTH118
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(below):
                del sys.modules[name]
