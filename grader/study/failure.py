"""Says why a program of a study gave no result, from what its processes printed."""

import re
import signal
from collections.abc import Iterable
from pathlib import Path

from grader.study.workplace import NOT_HANDED_IN

_MAX_OUTPUT_NUM_BYTES = 1 << 16
_MAX_SENTENCE_NUM_CHARS = 200
_WRONG = "WrongResult"
"""What a program raises that finds a result to be wrong."""
_CERTAIN = (_WRONG, "NotImplementedError")
"""What comes again when the same code is run again; a crash may come of the machine."""
_HEAD = "Traceback (most recent call last):"
_ERROR = re.compile(r"([A-Za-z_][\w.]*)(?:: (.*))?")
_USAGE = re.compile(r"\S+\.py: error: (.*)")
"""How argparse refuses an option."""
_BEFORE = re.compile(r"\[rank\d+\]: ?")
"""What torch puts before the lines of a traceback."""


def why_failed(folder: Path, exit_code: int, is_complete: bool) -> tuple[str, bool]:
    """Return in one sentence why there is no result, and whether the next run would have none.

    It is the exception that was printed; without one, how the process ended.
    """
    text = ""
    for path in sorted(folder.glob("output-*")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MAX_OUTPUT_NUM_BYTES))
            text += file.read().decode(errors="replace")
    errors = _exceptions(text)
    if not errors:
        when = "after" if is_complete else "without"
        return f"{_ended(exit_code)} {when} a result, and printed no exception", False
    # What others say when a rank has gone is not the cause.
    kind, message = next((each for each in errors if "Connection" not in each[0]), errors[0])
    if kind == "NotImplementedError":
        said = f"is not written yet: {message or kind}"
    elif kind == _WRONG:
        said = f"gave a wrong result: {message}"
    else:
        said = f"crashed: {kind}: {message}"
    said = "".join(each if each.isprintable() else " " for each in said[:_MAX_SENTENCE_NUM_CHARS])
    return said, kind in _CERTAIN


def by_reason(missing: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return `a and 2 more` for each reason, with it, of points and the reason of each.

    What was not handed in is known, so it comes last; what went wrong is news.
    """
    names: dict[str, list[str]] = {}
    for name, why in missing:
        names.setdefault(why, []).append(name)
    return [
        (f"{first} and {len(others)} more" if others else first, why)
        for why, (first, *others) in sorted(names.items(), key=lambda each: is_known(each[0]))
    ]


def is_known(why: str) -> bool:
    """Return whether the only reason is a missing file."""
    return why.endswith(NOT_HANDED_IN)


def _ended(exit_code: int) -> str:
    """Return how a process ended that printed no exception."""
    if exit_code == 0:
        return "ended"
    if exit_code > 0:
        return f"ended with exit code {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"


def _exceptions(text: str) -> list[tuple[str, str]]:
    """Return names and messages of the exceptions whose tracebacks were printed."""
    found, is_within = [], False
    for line in text.splitlines():
        bare = _BEFORE.sub("", line)
        if usage := _USAGE.fullmatch(bare):
            found.append(("usage error", usage[1]))
        elif bare == _HEAD:
            is_within = True
        elif is_within and bare and not bare.startswith(" "):
            is_within = False
            match = _ERROR.fullmatch(bare)
            if match:
                found.append((match[1].rpartition(".")[2], match[2] or ""))
    return found
