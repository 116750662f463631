"""Makes mutants of a reference: versions with one small mistake each, which a suite has to find.

What is changed are the marked solutions, since the rest is given to students. The operators are the
classical ones of mutation testing (DeMillo, Lipton, Sayward 1978) and those that distributed code
adds: a wait that is left out, another tag, another source, another dtype, two statements swapped.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from grader.addons.authoring.solutions import solution_lines

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "+",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.And: "or",
    ast.Or: "and",
}
_DTYPES = {"float64": "float32", "float32": "float64", "int64": "int32", "double": "single"}
_NAMES = {"True": "False", "False": "True"}
_PEERS = ("source", "dest", "src", "dst", "root")
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete)


@dataclass(frozen=True)
class Mutant:
    """A source with one change in it."""

    line: int
    """Of the reference, from 1."""
    operator: str
    """What kind of change it is, such as `statement removed`."""
    before: str
    after: str
    source: str
    """The whole file."""


@dataclass(frozen=True)
class _Edit:
    """Characters of the source that are replaced: from `begin` up to `end`."""

    begin: int
    end: int
    text: str
    operator: str
    line: int


def mutants(source: str, file: str) -> list[Mutant]:
    """Return every mutant of a Python source that can be compiled, each once.

    file: its name in messages. Raises GraderError for a source that is wrongly marked.
    """
    lines = solution_lines(source, file)
    found: dict[str, Mutant] = {}
    for edit in _Edits(source).of(ast.parse(source)):
        if edit.line not in lines:
            continue
        changed = source[: edit.begin] + edit.text + source[edit.end :]
        try:
            compile(changed, file, "exec")
        except SyntaxError:  # such as a `return` that moved out of its function
            continue
        before = " ".join(source[edit.begin : edit.end].split())
        after = " ".join(edit.text.split())
        found.setdefault(changed, Mutant(edit.line, edit.operator, before, after, changed))
    found.pop(source, None)
    return list(found.values())


class _Edits:
    """Finds all that can be changed in one source."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._starts = [0]
        for line in source.encode().split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._bytes = source.encode()

    def of(self, tree: ast.AST) -> Iterator[_Edit]:
        """Yield the edits of all nodes."""
        for node in ast.walk(tree):
            yield from self._of_operators(node)
            yield from self._of_leaves(node)
            yield from self._of_calls(node)
            for name in ("body", "orelse"):
                body = getattr(node, name, None)
                if isinstance(body, list):
                    yield from self._of_body(body)

    def _of_operators(self, node: ast.AST) -> Iterator[_Edit]:
        if isinstance(node, ast.BinOp):
            yield from self._between(node.left, node.right, node.op)
        elif isinstance(node, ast.AugAssign):
            yield from self._between(node.target, node.value, node.op)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from self._between(node.left, node.comparators[0], node.ops[0])
        elif isinstance(node, ast.BoolOp):
            yield from self._between(node.values[0], node.values[1], node.op)
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield self._edit(node.test, f"not ({self._text(node.test)})", "condition negated")

    def _between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[_Edit]:
        """Yield the edit of an operator, which has no position of its own."""
        new = _OPERATORS.get(type(operator))
        begin, end = self._span(left)[1], self._span(right)[0]
        between = self._source[begin:end]
        old = between.strip(" ()\n=") if new else ""
        if new and between.count(old) == 1:
            begin += between.index(old)
            line = left.end_lineno or left.lineno
            yield _Edit(begin, begin + len(old), new, "operator", line)

    def _of_leaves(self, node: ast.AST) -> Iterator[_Edit]:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            for value in (node.value + 1, node.value - 1):
                yield self._edit(node, f"({value})" if value < 0 else str(value), "bound")
        elif isinstance(node, ast.Constant) and str(node.value) in _NAMES:
            yield self._edit(node, _NAMES[str(node.value)], "constant")
        elif isinstance(node, ast.Attribute) and node.attr in _DTYPES:
            yield self._edit(node, f"{self._text(node.value)}.{_DTYPES[node.attr]}", "dtype")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            yield self._edit(node, self._text(node.operand), "operator")

    def _of_calls(self, node: ast.AST) -> Iterator[_Edit]:
        if not isinstance(node, ast.Call):
            return
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg == "tag":
                yield self._edit(value, f"({self._text(value)}) + 1", "tag")
            elif keyword.arg in _PEERS:
                yield self._edit(value, "0", "peer")
        for left, right in pairwise(node.args):
            swapped = f"{self._text(right)}, {self._text(left)}"
            begin, end = self._span(left)[0], self._span(right)[1]
            yield _Edit(begin, end, swapped, "arguments swapped", left.lineno)
        if len(arguments) == 1 and node.args and isinstance(node.func, ast.Name | ast.Attribute):
            yield self._edit(node, self._text(node.args[0]), "call removed")

    def _of_body(self, body: list[ast.stmt]) -> Iterator[_Edit]:
        simple = [node for node in body if isinstance(node, _SIMPLE)]
        for statement in simple:
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                yield self._edit(statement, "pass", "statement removed")
        for node in body:
            if isinstance(node, ast.For | ast.While | ast.If | ast.With):
                yield self._edit(node, "pass", "block removed")
            if isinstance(node, ast.Return) and node.value is not None:
                yield self._edit(node, "return None", "nothing returned")
        for first, second in pairwise(body):
            if isinstance(first, _SIMPLE) and isinstance(second, _SIMPLE):
                begin, middle = self._span(first)
                after, end = self._span(second)
                swapped = self._text(second) + self._source[middle:after] + self._text(first)
                yield _Edit(begin, end, swapped, "statements swapped", first.lineno)

    def _edit(self, node: ast.expr | ast.stmt, text: str, operator: str) -> _Edit:
        begin, end = self._span(node)
        return _Edit(begin, end, text, operator, node.lineno)

    def _text(self, node: ast.expr | ast.stmt) -> str:
        begin, end = self._span(node)
        return self._source[begin:end]

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends, in characters: the tree counts bytes."""
        begin = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        return len(self._bytes[:begin].decode()), len(self._bytes[:end].decode())
