"""Names that a file handed in may have: text that any system can hold and any screen can show."""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from grader.intake.archives.entries import IS_OF_A_TOOL, MAX_DEPTH

_MAX_NAME_NUM_BYTES = 255
_MAX_SHOWN_CHARS = 200
_DRIVE = re.compile(r"[A-Za-z]:")
_SKIPPED_FOLDERS = {"__pycache__", "__MACOSX", "node_modules", "venv"}
"""And all whose names begin with a dot."""
_MAX_PATH_NUM_BYTES = 480
TOO_DEEP = f"but the limit is {MAX_DEPTH - 1}"


def problem_of(parts: Sequence[str]) -> str:
    """Return what is wrong with the path of these parts; empty if nothing.

    One rule for whatever is handed in: a folder, an archive, what a notebook writes.
    """
    return next(filter(None, (_problem_of_place(parts), *map(_problem_of_part, parts))), "")


def is_skipped(folder: str) -> bool:
    """Return whether folders of this name hold nothing that is handed in."""
    return folder in _SKIPPED_FOLDERS or folder.startswith(".")


def in_archive(name: str) -> tuple[tuple[str, ...], str] | None:
    """Return the parts of a member's path and what is wrong with it; None for the root.

    For a member in a tool's folder, they are the parts of that folder.
    """
    # Some programs write the separators of their own system.
    path = PurePosixPath(name.replace("\\", "/"))
    if problem := _problem_of_place(path.parts):
        return path.parts, problem
    if not path.parts:
        return None
    for depth, part in enumerate(path.parts[:-1], 1):
        if is_skipped(part):
            return path.parts[:depth], IS_OF_A_TOOL
    if len(path.parts) > MAX_DEPTH:
        return path.parts, f"is {len(path.parts) - 1} folders deep, {TOO_DEEP}"
    return path.parts, problem_of(path.parts)


def shown(parts: Iterable[str]) -> str:
    """Return a path of any parts as plain text; where it is long, its digest ends it."""
    # The first part of an absolute path is its slash.
    text = shown_text("/".join(parts).replace("//", "/"))
    if len(text) <= _MAX_NAME_NUM_BYTES:
        return text
    return f"{text[: _MAX_NAME_NUM_BYTES - 11]}...{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def shown_text(text: str) -> str:
    """Return the text with escapes for what is not printable."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def shortened(text: str) -> str:
    """Return a text without its middle where it is long."""
    if len(text) <= _MAX_SHOWN_CHARS:
        return text
    half = _MAX_SHOWN_CHARS // 2
    return f"{text[:half]}...{text[-half:]}"


def alike(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the names that a system may take for one: case, accents, spaces and dots at ends."""
    groups = defaultdict(list)
    for name in sorted(names):
        parts = unicodedata.normalize("NFC", name).casefold().split("/")
        groups[tuple(part.rstrip(" .") for part in parts)].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _problem_of_place(parts: Sequence[str]) -> str:
    if (parts and parts[0].startswith("/")) or ".." in parts:
        return "would be outside the submission"
    # In any part: the folder that counts may be one further down.
    if sum(len(part.encode(errors="replace")) + 1 for part in parts) > _MAX_PATH_NUM_BYTES:
        return f"has a path of more than {_MAX_PATH_NUM_BYTES} bytes"
    if drive := next(filter(None, map(_DRIVE.match, parts)), None):
        return f"has a name that begins with a drive letter, {drive[0]}"
    return ""


def _problem_of_part(part: str) -> str:
    try:
        num_bytes = len(part.encode())
    except UnicodeEncodeError:
        return "has a name that is not text"
    if num_bytes > _MAX_NAME_NUM_BYTES:
        return f"has a name of more than {_MAX_NAME_NUM_BYTES} bytes"
    if not part.isprintable() or "\\" in part:
        return "has a name with characters that cannot be shown"
    return ""
