"""What the files of a submission import, read off their text: nothing of theirs is run for it."""

import ast
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.judge.findings import RuleViolation
from grader.model import Outcome
from grader.suite.case import Case, Data, Text

SOLVERS = frozenset(
    {
        *("autogluon", "catboost", "cvxpy", "deepspeed", "fastai", "flax", "h2o", "horovod"),
        *("ignite", "jax", "keras", "lightgbm", "lightning", "mxnet", "optax"),
        *("pytorch_lightning", "scipy", "skorch", "sklearn", "statsmodels", "tensorflow"),
        *("theano", "torch_optimizer", "vowpalwabbit", "xgboost"),
    }
)
"""Packages that train models, or minimise functions, by themselves."""


@dataclass(frozen=True, kw_only=True)
class Sources(Case):
    """Not a call: the text of all Python files that were handed in."""

    probe: str = "read_sources"
    file: str

    @property
    def label(self) -> str:
        """Return that it is about the files."""
        return "the files handed in"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the file whose folder is read."""
        return [{"file": self.file}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Text]:
        """Return that it is text: JSON of file names and contents."""
        return {"sources": Text(max_num_chars=1 << 21)}


@dataclass(frozen=True)
class Name:
    """One place where a name is used, alone or as an attribute."""

    file: str
    line: int
    name: str


@dataclass(frozen=True)
class Import:
    """One place where a module is imported."""

    file: str
    line: int
    module: str
    """With dots, as it is written."""


def imports(sources: Mapping[str, str]) -> Iterator[Import]:
    """Yield all absolute imports of Python sources, by name of file, however they are nested.

    import_module("x") and __import__("x") count where the name is a literal. A file that is no
    valid Python imports nothing.
    """
    for file, node in _nodes(sources):
        for module in _imported_by(node):
            yield Import(file, getattr(node, "lineno", 0), module)


def names(sources: Mapping[str, str]) -> Iterator[Name]:
    """Yield every name that Python sources use, and every attribute by its last part."""
    for file, node in _nodes(sources):
        name = getattr(node, "id", None) or getattr(node, "attr", None)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(name, str):
            yield Name(file, node.lineno, name)


def assert_no_import_of(sources: Mapping[str, str], forbidden: Collection[str], why: str) -> None:
    """Assert that no file imports one of these packages, or a module of theirs.

    why: the rule in words. Raises RuleViolation with file, line and module.
    """
    found = [each for each in imports(sources) if each.module.split(".")[0] in forbidden]
    if found:
        first = found[0]
        more = f" ({len(found)} such imports in all)" if len(found) > 1 else ""
        raise RuleViolation(f"{first.file}:{first.line} imports {first.module}{more}; {why}")


def assert_no_solver(outcome: Outcome) -> None:
    """Assert that none of the files handed in imports scikit-learn or another solver."""
    (text,) = set(outcome["sources"][:1])
    assert_no_import_of(
        read(text), SOLVERS, "the training is to be written with torch, without another solver"
    )


def read(text: str) -> dict[str, str]:
    """Return the sources that a rank has sent; what it did not send as asked is left out."""
    try:
        sources = json.loads(text)
    # RecursionError: nested deeper than the reader can take.
    except (ValueError, RecursionError):
        return {}
    if not isinstance(sources, dict):
        return {}
    return {file: source for file, source in sources.items() if isinstance(source, str)}


def _nodes(sources: Mapping[str, str]) -> Iterator[tuple[str, ast.AST]]:
    for file, text in sources.items():
        try:
            tree = ast.parse(text)
        # MemoryError: nested deeper than the parser can take, so no Python can run it either.
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            yield file, node


def _imported_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module and not node.level else []
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        value = node.args[0].value
        if name in ("import_module", "__import__") and isinstance(value, str):
            return [value]
    return []
