"""An exception of student code, told so that the student finds the line."""

import contextlib
import shlex
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import frames

_MAX_TEXT = 4000
_MAX_LAST_LINE = 1000
_OURS = ("processes", "rank-0", "segments", "windows")
"""What we have put into the working folder of a rank that has no others."""
_MAX_NAMES = 10
"""Of what the working folder holds."""


def describe(
    error: BaseException,
    submission: Path,
    support: Path | None = None,
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what the judge is told: kind, type, message, and where it was raised.

    file, line, source: the student's innermost line, or the one that is no valid Python. called:
    the function that raised. traceback: the frames from the student's first one on. command: what a
    script was started as. said: the line that argparse ends a program with. imported_at: the line
    of the import that fails, where another line uses what it imports. missing, there: the
    relative path of a file that is not there, and what the working folder holds.
    submission, support: the folders of the student's files and of those given beside them.
    command: the words that the student's script was started with; empty where it was imported.
    """
    stack = traceback.extract_tb(error.__traceback__)
    first = next((i for i, frame in enumerate(stack) if _is_in(frame.filename, submission)), None)
    # No frame is the student's when the signature is wrong or a name is missing.
    theirs = stack[first:] if first is not None else []
    inner = next((frame for frame in reversed(theirs) if _is_in(frame.filename, submission)), None)
    file, line = (_name(inner.filename, submission), inner.lineno) if inner else ("", 0)
    source = (inner.line or "") if inner else ""
    if isinstance(error, SyntaxError) and error.filename:
        file, line = _name(error.filename, submission), error.lineno or 0
        source = error.text if isinstance(error.text, str) else ""
    message = _text_of(error)
    deep = _too_deep(error, stack, submission)
    if deep is not None:
        error = SyntaxError()
        file, line, message = _name(str(deep), submission), 1, "it is nested too deeply"
    folders = (submission, *([support] if support is not None else []))
    return {
        "kind": _kind(error),
        "type": type(error).__name__[:100],
        "message": message,
        "file": file,
        "line": line,
        "source": source[:_MAX_LAST_LINE],
        "called": stack[-1].name[:_MAX_LAST_LINE] if stack else "",
        "traceback": frames.told(theirs, folders) + _last_lines(error, message, folders),
        "command": shlex.join(command)[:_MAX_LAST_LINE],
        "said": _said_by_argparse(error)[:_MAX_LAST_LINE],
        **_missing_file(error),
        "imported_at": frames.without(_imported_at(error), folders)[:_MAX_LAST_LINE],
    }


def _last_lines(error: BaseException, message: str, folders: Sequence[Path]) -> str:
    """Return what a traceback ends with: of what is no valid Python, the line with a caret."""
    if isinstance(error, SyntaxError) and error.filename:
        shown = "".join(traceback.format_exception_only(error))
        return frames.shortened(frames.without(shown, folders))[:_MAX_TEXT].rstrip("\n")
    return f"{type(error).__name__}: {frames.without(message, folders)[:_MAX_LAST_LINE]}"


def _said_by_argparse(error: BaseException) -> str:
    """Return how argparse explains why it ends a program, which stands far above in its output."""
    if isinstance(error, SystemExit):
        for frame, _ in traceback.walk_tb(error.__traceback__):
            is_its = frame.f_globals.get("__name__") == "argparse"
            said = frame.f_locals.get("message") if is_its else None
            if frame.f_code.co_name == "error" and isinstance(said, str):
                return said
    return ""


def _missing_file(error: BaseException) -> dict[str, Any]:
    """Return which relative path is not there, and what is: folders end with a slash."""
    with contextlib.suppress(Exception):  # their own class may answer with anything
        path = error.filename if isinstance(error, FileNotFoundError) else None
        if type(path) is not str or path.startswith("/"):
            return {}
        found = [each for each in Path().iterdir() if each.name not in _OURS]
        there = sorted(f"{each.name}/" if each.is_dir() else each.name for each in found)
        return {"missing": path[:_MAX_LAST_LINE], "there": there[:_MAX_NAMES]}
    return {}


def _imported_at(error: BaseException) -> str:
    """Return the line of the import whose stand-in was used; see missing_packages."""
    with contextlib.suppress(Exception):  # their own class may answer with anything
        imported_at = getattr(error, "imported_at", "") if isinstance(error, ImportError) else ""
        return imported_at if type(imported_at) is str else ""
    return ""


def _too_deep(error: BaseException, stack: traceback.StackSummary, submission: Path) -> Path | None:
    """Return the file of the submission that Python's parser has given up on, if that is why.

    It says so as it says that memory or stack have run out while a program runs.
    """
    if not isinstance(error, MemoryError | RecursionError) or not stack:
        return None
    last = stack[-1]
    is_ours = not _is_in(last.filename, submission)
    if not is_ours and not (last.line or "").startswith(("import ", "from ")):
        return None
    for path in sorted(submission.rglob("*.py")):
        try:
            compile(path.read_bytes(), path, "exec", dont_inherit=True)
        except (MemoryError, RecursionError):
            return path
        except (SyntaxError, ValueError, OSError):
            continue
    return None


def _is_in(file: str, submission: Path) -> bool:
    return frames.is_in(file, (submission,))


def _name(file: str, submission: Path) -> str:
    """Return how the student calls a file: its path below the submission."""
    path = Path(file)
    return str(path.relative_to(submission)) if _is_in(file, submission) else path.name


def _kind(error: BaseException) -> str:
    if isinstance(error, NotImplementedError):
        return "not_attempted"
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, SystemExit):
        return "exit"
    return "exception"


def _text_of(error: BaseException) -> str:
    """Return str(error), surviving a student's own __str__."""
    try:
        if isinstance(error, SyntaxError):
            return str(error.msg)[:_MAX_TEXT]
        return str(error)[:_MAX_TEXT]
    except Exception:
        return "(its text could not be read)"
