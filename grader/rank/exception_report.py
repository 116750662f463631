"""An exception of student code, told so that the student finds the line."""

import builtins
import contextlib
import difflib
import linecache
import re
import shlex
import sysconfig
import traceback
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from . import probe_modules

_MAX_TEXT = 4000
_MAX_LAST_LINE = 1000
_OURS = ("processes", "rank-0", "segments", "windows")
"""What we have put into the working folder of a rank that has no others."""
_LIKENESS = 0.75
"""How much a name must have in common with another one, for the other one to be meant."""
_MAX_NAMES = 10
"""Of what the working folder holds."""


def describe(
    error: BaseException,
    submission: Path,
    support: Path | None = None,
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what the judge is told: kind, type, message, and where it was raised.

    file, line, source: the student's innermost line, or the one that is no valid Python. column,
    num_columns: what of it raised, from 1. meant: the name most like one that is not defined.
    called: the function that raised. traceback: the frames from the student's first one on.
    command: what a script was started as. said: the line that argparse ends a program with.
    imported_at: the line of the import that fails, where another line uses what it imports.
    missing, there: the relative path of a file that is not there, and what the working folder
    holds.
    submission, support: the folders of the student's files and of those given beside them.
    command: the words that the student's script was started with; empty where it was imported.
    """
    stack = traceback.extract_tb(error.__traceback__)
    first = next(
        (i for i, frame in enumerate(stack) if _is_in(frame.filename, (submission,))), None
    )
    # No frame is the student's when the signature is wrong or a name is missing.
    theirs = stack[first:] if first is not None else []
    inner = next(
        (frame for frame in reversed(theirs) if _is_in(frame.filename, (submission,))), None
    )
    file, line = (_name(inner.filename, submission), inner.lineno) if inner else ("", 0)
    source = (inner.line or "") if inner else ""
    column, num_columns = _columns(inner) if inner else (0, 0)
    if isinstance(error, SyntaxError) and error.filename:
        file, line = _name(error.filename, submission), error.lineno or 0
        source = error.text if isinstance(error.text, str) else ""
        column, num_columns = error.offset or 0, 1
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
        "column": column,
        "num_columns": num_columns,
        "meant": _meant(error)[:_MAX_LAST_LINE],
        "called": stack[-1].name[:_MAX_LAST_LINE] if stack else "",
        "traceback": frames_text(theirs, folders) + _last_lines(error, message, folders),
        "command": shlex.join(command)[:_MAX_LAST_LINE],
        "said": _said_by_argparse(error)[:_MAX_LAST_LINE],
        **_missing_file(error),
        "imported_at": _without(_imported_at(error), folders)[:_MAX_LAST_LINE],
    }


def _columns(frame: traceback.FrameSummary) -> tuple[int, int]:
    """Return the first column of what a frame computes, from 1, and how many it has in its line."""
    text = linecache.getline(frame.filename, frame.lineno or 0).rstrip("\n").encode()
    begin, end = frame.colno, frame.end_colno
    if begin is None or end is None:
        return 0, 0
    if frame.end_lineno != frame.lineno:
        end = len(text)
    # Python counts bytes.
    marked = text[begin:end].decode(errors="replace")
    return len(text[:begin].decode(errors="replace")) + 1, len(marked)


def _meant(error: BaseException) -> str:
    """Return the name that is most like the one that was not found; empty for none."""
    with contextlib.suppress(Exception):  # their own classes may answer with anything
        if isinstance(error, AttributeError):
            names = [each for each in dir(error.obj) if type(each) is str]
        elif isinstance(error, NameError) and error.__traceback__ is not None:
            *_, (frame, _) = traceback.walk_tb(error.__traceback__)
            names = [*frame.f_locals, *frame.f_globals, *dir(builtins)]
        else:
            return ""
        name = error.name
        if type(name) is str and len(name) < _MAX_LAST_LINE:
            return next(iter(difflib.get_close_matches(name, names, 1, _LIKENESS)), "")
    return ""


def _last_lines(error: BaseException, message: str, folders: Sequence[Path]) -> str:
    """Return what a traceback ends with: of what is no valid Python, the line with a caret."""
    if isinstance(error, SyntaxError) and error.filename:
        shown = "".join(traceback.format_exception_only(error))
        return _shortened(_without(shown, folders))[:_MAX_TEXT].rstrip("\n")
    return f"{type(error).__name__}: {_without(message, folders)[:_MAX_LAST_LINE]}"


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
    is_ours = not _is_in(last.filename, (submission,))
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


def _name(file: str, submission: Path) -> str:
    """Return how the student calls a file: its path below the submission."""
    path = Path(file)
    return str(path.relative_to(submission)) if _is_in(file, (submission,)) else path.name


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


_OUR_FILES = (str(Path(__file__).parent) + "/", probe_modules.FILES, "<frozen ")
_INSTALLED = "/site-packages/"
_COMPILED = re.compile(r"src/(\w+)/")
"""How compiled modules such as mpi4py's name their sources."""
_MAX_FIRST, _MAX_LAST = 4, 6
"""Frames of the student's that are shown of a deep recursion."""
_MAX_LINE_CHARS = 200


def frames_text(frames: Sequence[traceback.FrameSummary], folders: Sequence[Path]) -> str:
    """Return the frames in folders as Python shows them, and a line for others between and after.

    folders: where the submission lies, and what was given with the assignment; files are named by
    their paths in there.
    """
    pieces: list[str] = []
    for is_shown, group in groupby(frames, lambda frame: _is_in(frame.filename, folders)):
        found = list(group)
        if is_shown:
            pieces += [_shown(frame, folders) for frame in found]
        elif (line := _between(found)) is not None:
            pieces.append(line)
    left_out = len(pieces) - _MAX_FIRST - _MAX_LAST
    if left_out > 1:
        pieces[_MAX_FIRST : _MAX_FIRST + left_out] = [f"  ... {left_out} more calls\n"]
    return "".join(pieces)


def _is_in(file: str, folders: Sequence[Path]) -> bool:
    """Return whether a file lies in one of the folders."""
    return any(Path(file).is_relative_to(folder) for folder in folders)


def _without(text: str, folders: Sequence[Path]) -> str:
    """Return a text in which files in the folders go by their paths in there."""
    for folder in folders:
        text = text.replace(f"{folder}/", "")
    return text


def _shortened(text: str) -> str:
    """Return a text without the ends of lines that are too long to be read."""
    return "".join(
        line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}...\n"
        for line in text.splitlines(keepends=True)
    )


def _shown(frame: traceback.FrameSummary, folders: Sequence[Path]) -> str:
    return _shortened(_without("".join(traceback.format_list([frame])), folders))


def _between(frames: Sequence[traceback.FrameSummary]) -> str | None:
    """Return the line that stands for frames of libraries; None where all are ours."""
    names = [
        _library(frame.filename) for frame in frames if not frame.filename.startswith(_OUR_FILES)
    ]
    if not names:
        return None
    calls = "1 call" if len(names) == 1 else f"{len(names)} calls"
    return f"  ... {calls} inside {', '.join(dict.fromkeys(names))}\n"


def _library(file: str) -> str:
    """Return the name under which a file's package or module is imported."""
    compiled = _COMPILED.match(file)
    if compiled:
        return compiled[1]
    standard = sysconfig.get_path("stdlib") + "/"
    _, is_installed, path = file.rpartition(_INSTALLED)
    if not is_installed:
        path = file.removeprefix(standard) if file.startswith(standard) else Path(file).name
    return path.partition("/")[0].removesuffix(".py")
