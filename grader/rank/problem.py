"""An exception of student code, told so that the student finds the line."""

import traceback
from pathlib import Path
from typing import Any

_MAX_TEXT = 4000


def describe(error: BaseException, submission: Path) -> dict[str, Any]:
    """Return what the judge is told: kind, type, message, file, line and the student's traceback.

    Frames before the first one in the submission (ours) are left out.
    """
    frames = traceback.extract_tb(error.__traceback__)
    first = next((i for i, frame in enumerate(frames) if _is_in(frame.filename, submission)), None)
    # No frame is the student's when the signature is wrong or a name is missing.
    theirs = frames[first:] if first is not None else []
    inner = next((frame for frame in reversed(theirs) if _is_in(frame.filename, submission)), None)
    file, line = (_name(inner.filename, submission), inner.lineno) if inner else ("", 0)
    if isinstance(error, SyntaxError) and error.filename:
        file, line = _name(error.filename, submission), error.lineno or 0
    message = _text_of(error)
    deep = _too_deep(error, frames, submission)
    if deep is not None:
        error = SyntaxError()
        file, line, message = _name(str(deep), submission), 1, "it is nested too deeply"
    text = "".join(traceback.format_list(theirs)) + f"{type(error).__name__}: {message}"
    return {
        "kind": _kind(error),
        "type": type(error).__name__[:100],
        "message": message,
        "file": file,
        "line": line,
        "traceback": text.replace(f"{submission}/", "")[-_MAX_TEXT:],
    }


def _too_deep(
    error: BaseException, frames: traceback.StackSummary, submission: Path
) -> Path | None:
    """Return the file of the submission that Python's parser has given up on, if that is why.

    It says so as it says that memory or stack have run out while a program runs.
    """
    if not isinstance(error, MemoryError | RecursionError) or not frames:
        return None
    last = frames[-1]
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
    return Path(file).is_relative_to(submission)


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
