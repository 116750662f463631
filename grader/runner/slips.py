"""Sentences about slips that have nothing to do with the task: each names its line."""

from collections.abc import Mapping
from typing import Any

from grader.runner.wire import Frame, text_of

_MAX_NAMES, _MAX_NAME_CHARS = 10, 40
_MAX_REMARKS = 20
_REMARKS = {
    "breakpoint": "calls breakpoint(), which does nothing here",
    "import": "imports {}, which is not installed here; no case with an answer used it",
}
"""What a rank may remark on a line, by kind."""
_NOBODY_TYPES = {
    ("BdbQuit", ""): "starts the debugger pdb, and nobody types there; remove the line",
    ("EOFError", "EOF when reading a line"): "calls input(), and nobody types there; write the "
    "value into the file instead",
}
"""By type and message of an exception: what the line does that raised it."""


def told(rank: int, values: Mapping[str, Any]) -> str:
    """Return the sentence about an exception that a slip raised; empty for all others.

    values: what the rank says of it.
    """
    name, message = text_of(values, "type"), text_of(values, "message")
    file, line = text_of(values, "file"), values.get("line")
    where = f"rank {rank}: {file}:{line}" if file and type(line) is int else ""
    if imported_at := text_of(values, "imported_at"):
        package = message.partition("'")[2].partition("'")[0]
        return (
            f"{where or f'rank {rank}: the part'} uses {package}, which is not installed here and "
            f"which {imported_at} imports"
        )
    if where and (name, message) in _NOBODY_TYPES:
        return f"{where} {_NOBODY_TYPES[name, message]}"
    if where and (missing := text_of(values, "missing")):
        return (
            f"{where} asks for {missing!r}, which is not there; the working folder holds "
            f"{_listed(values.get('there'))}; files that were handed in are not copied there, "
            "folders are"
        )
    return ""


def _listed(names: object) -> str:
    named = names[:_MAX_NAMES] if isinstance(names, list) else []
    texts = (name[:_MAX_NAME_CHARS] for name in named if isinstance(name, str))
    return ", ".join(texts) or "nothing"


def remarks_of(frame: Frame, submission: Mapping[str, bytes]) -> list[str]:
    """Return what a rank remarks on lines of the submission, as sentences.

    submission: its files. What a line does not bear out is left out: a rank can say anything.
    """
    found = frame.values.get("remarks")
    told = []
    for remark in found[:_MAX_REMARKS] if isinstance(found, list) else []:
        if not isinstance(remark, list) or [type(each) for each in remark] != [str, str, str, int]:
            continue
        kind, about, file, line = remark
        lines = submission.get(file, b"").decode(errors="replace").splitlines()
        if kind in _REMARKS and 0 < line <= len(lines) and (about or kind) in lines[line - 1]:
            told.append(f"{file}:{line} {_REMARKS[kind].format(about)}")
    return told
