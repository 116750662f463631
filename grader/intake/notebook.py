"""Reads the files that a notebook's cells would write: `%%writefile NAME`; nothing is executed."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from grader.intake.archives.names import problem_of, shown_text

_MAX_FILES = 200
_MAX_ARGUMENTS_CHARS = 1000
_MAX_NAME_NUM_BYTES = 255
_MAX_PARTS = 5
_MAGIC = re.compile(r"%%(?:writefile|file)(?:[ \t]+(.*))?")
_APPEND = ("-a", "--append")
_HOSTED_FOLDER = "/content/"
"""Where notebooks of the usual hosting service run: what is written there lies beside them."""


@dataclass(frozen=True)
class Written:
    """What the cells of one notebook would leave in its folder, run from top to bottom."""

    files: Mapping[str, bytes]
    """By path relative to the notebook's folder."""
    problems: tuple[str, ...] = ()
    """One clause for each thing that was not taken."""


def read(content: bytes) -> Written:
    """Return the files that the cells of a notebook write; a later cell overwrites an earlier.

    Whatever the content is, the answer is files or words about it.
    """
    try:
        cells = list(_code_cells(json.loads(content)))
    except (RecursionError, TypeError, ValueError, KeyError) as error:
        return Written({}, (f"is not a readable notebook ({type(error).__name__})",))
    pieces: dict[str, list[str]] = {}
    problems = []
    for source in cells:
        head, _, body = source.lstrip("\n").partition("\n")
        magic = _MAGIC.fullmatch(head.rstrip())
        if magic is None:
            continue
        name, appends, problem = _target(magic[1] or "")
        if not problem and name not in pieces and len(pieces) >= _MAX_FILES:
            problem = f"writes more than {_MAX_FILES} files"
        if problem:
            problems.append(problem)
            continue
        # Jupyter ends the last line, too.
        text = body if body.endswith("\n") or not body else f"{body}\n"
        if not appends:
            pieces[name] = []
        pieces.setdefault(name, []).append(text)
    if not pieces and not problems:
        problems.append("has no cell that begins with %%writefile")
    # A lone surrogate, which JSON can hold, is no text in any encoding.
    files = {name: "".join(texts).encode(errors="replace") for name, texts in pieces.items()}
    return Written(files, tuple(dict.fromkeys(problems)))


def _code_cells(notebook: Any) -> Iterator[str]:
    """Yield the source of each code cell. Raises TypeError or KeyError for no notebook."""
    if not isinstance(notebook["cells"], list):
        raise TypeError
    for cell in notebook["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type", "code") == "code":
            # Either one text, or a list of lines with their ends.
            source = cell.get("source")
            lines = [source] if isinstance(source, str) else source
            if isinstance(lines, list) and all(isinstance(line, str) for line in lines):
                yield "".join(lines)


def _target(arguments: str) -> tuple[str, bool, str]:
    """Return the file that a cell writes, whether it appends, and what is wrong with that."""
    try:
        words = shlex.split(arguments[:_MAX_ARGUMENTS_CHARS])
    except ValueError:
        words = []
    names = [word for word in words if word not in _APPEND]
    if len(names) != 1:
        return (
            "",
            False,
            f"has a cell `%%writefile {shown_text(arguments[:60])}` that does not name exactly one "
            "file",
        )
    name = names[0].removeprefix(_HOSTED_FOLDER)
    path = PurePosixPath(name)
    is_plain = name.isprintable() and not set("\\$~{}") & set(name)
    if (
        not is_plain
        or problem_of(path.parts)
        or not 1 <= len(path.parts) <= _MAX_PARTS
        or len(name.encode()) > _MAX_NAME_NUM_BYTES
    ):
        return (
            "",
            False,
            (f"has a cell that writes to {name[:60]!r}, which is not a plain relative path"),
        )
    return path.as_posix(), len(names) < len(words), ""
