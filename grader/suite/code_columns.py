"""Finds the columns of a line that a finding is about: the call, or the name that it quotes."""

import ast
import re
from collections.abc import Iterator, Sequence

_QUOTED = re.compile(r"['`]([A-Za-z_]\w*)['`]|\b([A-Za-z_]\w*)\(")
"""A name in quotes, or one that is called."""


def columns_of(source: bytes, line: int, finding: str) -> tuple[int, int]:
    """Return the first column, from 1, and how many there are; (0, 0) where nothing stands out.

    source: a whole file. line: from 1. finding: the sentence about the line; a name that it quotes
    or calls is what is marked, else the first call that begins there.
    """
    try:
        nodes = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.expr)]
    except SyntaxError as error:
        is_here = error.lineno == line and (error.offset or 0) > 0
        first, last = error.offset or 0, error.end_offset or 0
        return (first, max(1, last - first)) if is_here else (0, 0)
    except (ValueError, RecursionError, MemoryError):
        return 0, 0
    text = source.splitlines()[line - 1] if line <= len(source.splitlines()) else b""
    words = {word for pair in _QUOTED.findall(finding) for word in pair if word}
    here = [each for each in nodes if each.lineno == line and each.end_lineno == line]
    named = [each for each in here if _name_of(each) in words]
    calls = [each.func for each in nodes if isinstance(each, ast.Call) and each.func.lineno == line]
    for node in (*_largest_first(named), *_largest_first(calls)):
        start, end = node.col_offset, node.end_col_offset or node.col_offset
        before = len(text[:start].decode("utf-8", "replace"))
        return before + 1, len(text[start:end].decode("utf-8", "replace"))
    return 0, 0


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _largest_first(nodes: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """Yield `comm.Isend` before `comm`, and of two alike the one further left."""
    yield from sorted(
        nodes, key=lambda each: (not isinstance(each, ast.Attribute), each.col_offset)
    )
