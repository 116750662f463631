"""Sentences about slips that have nothing to do with the task: each names its line."""

import re
from collections.abc import Mapping
from typing import Any

from grader.judge.explanation.sent_texts import text_of
from grader.model.finding import Finding, found

_MAX_NAMES, _MAX_NAME_CHARS = 10, 40
MAX_REMARKS = 20
_MAX_LOOKED_AT_NUM_BYTES = 1 << 20
"""Of a file whose lines are remarked on."""
_MAX_LINE_NUM_BYTES = 1000
_REMARKS = {
    "breakpoint": "calls breakpoint(), which does nothing here",
    "system": "calls os.system(), which starts no program here",
    "subprocess": "starts a program by subprocess, which starts none here",
    "import": "imports {}, which is not installed here; that costs nothing unless a line uses it",
    "failed_import": "imports {}, which fails here; that costs nothing unless a line uses it",
}
"""What a rank may remark on a line, by kind."""
_WORDS = {
    "breakpoint": b"breakpoint",
    "system": b"system",
    "subprocess": b"subprocess|run|call|Popen",
}
_NOBODY_TYPES = {
    ("BdbQuit", ""): "starts the debugger pdb, but grading has no keyboard; remove the line",
    ("EOFError", "EOF when reading a line"): (
        "calls input(), but grading has no keyboard; write the value into the file instead"
    ),
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
        user = where or f"rank {rank}: the graded code"
        if name != "ModuleNotFoundError":
            return f"{user} uses what {imported_at} imports; that import fails here: {message}"
        package = message.partition("'")[2].partition("'")[0]
        return f"{user} uses {package}, imported at {imported_at}, which is not installed here"
    if where and (name, message) in _NOBODY_TYPES:
        return f"{where} {_NOBODY_TYPES[name, message]}"
    if where and (missing := text_of(values, "missing")):
        return (
            f"{where} opens {missing!r}, which does not exist. The working folder holds "
            f"{_listed(values.get('there'))}; of what was handed in, only the empty folders "
            "are there"
        )
    return ""


def _listed(names: object) -> str:
    named = names[:_MAX_NAMES] if isinstance(names, list) else []
    texts = (name[:_MAX_NAME_CHARS] for name in named if isinstance(name, str))
    return ", ".join(texts) or "nothing"


def remarks_of(values: Mapping[str, Any], submission: Mapping[str, bytes]) -> list[Finding]:
    """Return what a rank remarks on lines of the submission.

    values: what it sent. submission: its files. What a line does not bear out is left out, since
    a rank can say anything.
    """
    sent = values.get("remarks")
    told = []
    lines: dict[str, list[bytes]] = {}
    for remark in sent[:MAX_REMARKS] if isinstance(sent, list) else []:
        if not isinstance(remark, list) or [type(each) for each in remark] != [str, str, str, int]:
            continue
        kind, about, file, line = remark
        content = submission.get(file, b"")
        if kind not in _REMARKS or not line > 0 or len(content) > _MAX_LOOKED_AT_NUM_BYTES:
            continue
        if file not in lines:
            lines[file] = content.splitlines()
        text = lines[file][line - 1] if line <= len(lines[file]) else b""
        if _bears_out(text, kind, about):
            place = f"{file}:{line}"
            text = f"{place} {_REMARKS[kind].format(about)}"
            told.append(found(f"remark.{kind}", text, about=about, place=place))
    return told


def _bears_out(line: bytes, kind: str, about: str) -> bool:
    """Return whether a line does what a rank remarks on it."""
    if kind in _WORDS:
        return not about and re.search(_WORDS[kind], line[:_MAX_LINE_NUM_BYTES]) is not None
    is_name = about.isidentifier() and len(about) <= _MAX_NAME_CHARS
    statement = rb"\b(?:import|from)\b[^#]*\b" + re.escape(about.encode()) + rb"\b"
    return is_name and re.search(statement, line[:_MAX_LINE_NUM_BYTES]) is not None
