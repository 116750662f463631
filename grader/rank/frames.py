"""The frames of an exception as a student reads them: their own ones, and what lies between."""

import re
import sysconfig
import traceback
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from . import probe_modules

_OURS = (str(Path(__file__).parent) + "/", probe_modules.FILES, "<frozen ")
_INSTALLED = "/site-packages/"
_COMPILED = re.compile(r"src/(\w+)/")
"""How compiled modules such as mpi4py's name their sources."""
_MAX_FIRST, _MAX_LAST = 4, 6
"""Frames of the student's that are shown of a deep recursion."""
_MAX_LINE_CHARS = 200


def told(frames: Sequence[traceback.FrameSummary], folders: Sequence[Path]) -> str:
    """Return the frames in folders as Python shows them, and a line for others between and after.

    folders: where the submission lies, and what was given with the assignment; files are named by
    their paths in there.
    """
    pieces: list[str] = []
    for is_shown, group in groupby(frames, lambda frame: is_in(frame.filename, folders)):
        found = list(group)
        if is_shown:
            pieces += [_shown(frame, folders) for frame in found]
        elif (line := _between(found)) is not None:
            pieces.append(line)
    left_out = len(pieces) - _MAX_FIRST - _MAX_LAST
    if left_out > 1:
        pieces[_MAX_FIRST : _MAX_FIRST + left_out] = [f"  ... {left_out} more calls\n"]
    return "".join(pieces)


def is_in(file: str, folders: Sequence[Path]) -> bool:
    """Return whether a file lies in one of the folders."""
    return any(Path(file).is_relative_to(folder) for folder in folders)


def without(text: str, folders: Sequence[Path]) -> str:
    """Return a text in which files in the folders go by their paths in there."""
    for folder in folders:
        text = text.replace(f"{folder}/", "")
    return text


def shortened(text: str) -> str:
    """Return a text without the ends of lines that are too long to be read."""
    return "".join(
        line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}...\n"
        for line in text.splitlines(keepends=True)
    )


def _shown(frame: traceback.FrameSummary, folders: Sequence[Path]) -> str:
    return shortened(without("".join(traceback.format_list([frame])), folders))


def _between(frames: Sequence[traceback.FrameSummary]) -> str | None:
    """Return the line that stands for frames of libraries; None where all are ours."""
    names = [_library(frame.filename) for frame in frames if not frame.filename.startswith(_OURS)]
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
