"""Why a suite cannot be read, in a sentence for its author: the line, what is there, what to do."""

import re
import sys
import traceback
from pathlib import Path

import pytest

from grader.model.errors import GraderError
from grader.model.spelling import did_you_mean

_NO_NAME = re.compile(r"cannot import name '([^']+)' from '([^']+)'")
_MAX_SHOWN_CHARS = 60


class Unreadable:
    """A pytest plugin that keeps why a suite could not be collected."""

    def __init__(self, suite: Path) -> None:
        self._suite = suite
        self.sentences: list[str] = []

    def pytest_exception_interact(
        self,
        call: pytest.CallInfo[None],
        report: pytest.CollectReport | pytest.TestReport,
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
            return "it has no test; expected functions whose names begin with test_"
        return printed[-2000:]


def _sentence(error: BaseException, suite: Path) -> str:
    """Return what is wrong with a suite that raised this."""
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
        hint = did_you_mean(name, _names_in(module))
        known = "docs/api.md lists" if module == "grader.api" else "it has"
        return (
            f"{place} imports {name} from {module}, which has no such name; {hint}expected one "
            f"that {known}"
        )
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


def _names_in(module: str) -> list[str]:
    return [name for name in dir(sys.modules.get(module)) if not name.startswith("_")]
