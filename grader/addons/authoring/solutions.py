"""Cuts marked solutions out of a reference's source: text in, text out.

A solution stands between two comments of equal indentation, inside a function:

    # solution: the sum over all ranks
    total = comm.allreduce(mine)
    # end of solution

A TODO comment and a NotImplementedError take its place; both name, in the words of the marker, what
is missing. All other lines stay as they are.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from grader.model.errors import GraderError

_MAX_LINE_LENGTH = 100
_BEGIN = re.compile(r"^(?P<indent> *)# solution: (?P<words>\S.*)$")
_END = re.compile(r"^(?P<indent> *)# end of solution$")
_LOOKS_LIKE_A_MARKER = re.compile(
    r"^\s*#+\s*(end\s+)?(of\s+)?(the\s+)?solution\s*(:|$)", re.IGNORECASE
)


@dataclass(frozen=True)
class _Solution:
    """One marked block; its lines are those of the markers, counted from 1."""

    begin: int
    end: int
    indent: str
    words: str


def strip_solutions(source: str, file: str) -> str:
    """Return Python source with every marked solution replaced; `file` is its name in messages.

    Raises GraderError, naming file and line, when a marker is misspelt, without its partner or
    outside of a function, or when a solution is not made of whole statements.
    """
    lines = source.split("\n")
    solutions = _find_solutions(lines, file)
    if not solutions:
        return source
    bodies = list(_bodies_in_functions(_parse(source, file)))
    stripped: list[str] = []
    kept_from = 0
    for solution in solutions:
        held = lines[solution.begin : solution.end - 1]
        if not all(line.startswith(solution.indent) for line in held if line.strip()) or not any(
            _holds_whole_statements(solution, body) for body in bodies
        ):
            raise GraderError(
                f"{file}:{solution.begin}: a solution must hold whole statements of a "
                "function, indented as they are"
            )
        stripped += lines[kept_from : solution.begin - 1]
        stripped += _hole(solution, file)
        kept_from = solution.end
    return "\n".join(stripped + lines[kept_from:])


def solution_lines(source: str, file: str) -> frozenset[int]:
    """Return the numbers, from 1, of the lines that solutions hold.

    Raises GraderError, naming file and line, when a marker is misspelt or without its partner.
    """
    found = _find_solutions(source.split("\n"), file)
    return frozenset(line for each in found for line in range(each.begin + 1, each.end))


def _find_solutions(lines: list[str], file: str) -> list[_Solution]:
    solutions: list[_Solution] = []
    begin: int | None = None
    indent = words = ""
    for number, line in enumerate(lines, start=1):
        if match := _BEGIN.match(line):
            if begin is not None:
                raise GraderError(
                    f"{file}:{number}: a solution begins inside that of line {begin}; end that "
                    "with `# end of solution` first"
                )
            begin, indent, words = number, match["indent"], match["words"]
        elif match := _END.match(line):
            if begin is None:
                raise GraderError(f"{file}:{number}: no solution begins before this end")
            if match["indent"] != indent:
                raise GraderError(
                    f"{file}:{number}: indented by {len(match['indent'])}, but its solution "
                    f"begins in line {begin} with {len(indent)}"
                )
            solutions.append(_Solution(begin, number, indent, words))
            begin = None
        elif _LOOKS_LIKE_A_MARKER.match(line):
            raise GraderError(
                f"{file}:{number}: `{line.strip()}` is not a marker; markers are exactly `# "
                "solution: <what is left to the student>` and `# end of solution`"
            )
    if begin is not None:
        raise GraderError(f"{file}:{begin}: this solution has no `# end of solution`")
    return solutions


def _parse(source: str, file: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise GraderError(f"{file}:{error.lineno}: {error.msg}") from error


def _bodies_in_functions(node: ast.AST, inside: bool = False) -> Iterator[list[ast.stmt]]:
    """Yield every list of statements below node that belongs to a function.

    Anywhere else a NotImplementedError would be raised by the import already.
    """
    inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if inside and isinstance(body, list):
            yield body
    for child in ast.iter_child_nodes(node):
        yield from _bodies_in_functions(child, inside and not isinstance(child, ast.ClassDef))


def _holds_whole_statements(solution: _Solution, body: list[ast.stmt]) -> bool:
    """Return whether some statements of body are in the solution and none is cut by a marker."""
    touched = [
        statement
        for statement in body
        if statement.lineno < solution.end and _last_line(statement) > solution.begin
    ]
    return bool(touched) and all(
        solution.begin < statement.lineno
        and _last_line(statement) < solution.end
        and statement.col_offset == len(solution.indent)
        for statement in touched
    )


def _last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _hole(solution: _Solution, file: str) -> list[str]:
    """Return the lines that take a solution's place."""
    if '"' in solution.words or "\\" in solution.words:
        raise GraderError(f"{file}:{solution.begin}: a marker cannot hold a quote or a backslash")
    indent = solution.indent
    message = f"{PurePath(file).name}: {solution.words} is still to be written"
    raising = [f'{indent}raise NotImplementedError("{message}")']
    if len(raising[0]) > _MAX_LINE_LENGTH:
        *pieces, last = textwrap.wrap(message, _MAX_LINE_LENGTH - len(f'{indent}    " "'))
        strings = [f'{indent}    "{piece} "' for piece in pieces] + [f'{indent}    "{last}"']
        raising = [f"{indent}raise NotImplementedError(", *strings, f"{indent})"]
    return [f"{indent}# TODO: {solution.words}", *raising]
