"""What the files of a submission import and name: read in a rank, for only there their bytes go."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.api import Array, Case, Data, Finding, Launch, RuleViolation, Text, found

SOLVERS = frozenset(
    {
        *("autogluon", "catboost", "cvxpy", "deepspeed", "fastai", "flax", "h2o", "horovod"),
        *("ignite", "jax", "keras", "lightgbm", "lightning", "mxnet", "optax"),
        *("pytorch_lightning", "scipy", "skorch", "sklearn", "statsmodels", "tensorflow"),
        *("theano", "torch_optimizer", "vowpalwabbit", "xgboost"),
    }
)
"""Packages that train models, or minimise functions, by themselves."""
LOCKS = ("Lock", "RLock", "Semaphore", "BoundedSemaphore", "flock", "lockf")
WAITS = ("Barrier", "Condition", "Event")
_MAX_CHARS = 1 << 14
_HELP = "use torch, and no other package that trains models"


@dataclass(frozen=True, kw_only=True)
class Sources(Case):
    """Not a call: what all Python files that were handed in import and name."""

    probe: str = "read_sources"
    file: str

    @property
    def label(self) -> str:
        """Return that it is about the files."""
        return "the files handed in"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the file whose folder is read, and what is looked for."""
        wanted = {"solvers": sorted(SOLVERS), "names": [*LOCKS, *WAITS]}
        return [{"file": self.file, **wanted}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return that both are JSON lists of what was found."""
        return {name: Text(max_num_chars=_MAX_CHARS) for name in ("imports", "names")}


@dataclass(frozen=True)
class Mention:
    """One place where a package is imported, or a name is used."""

    file: str
    line: int
    name: str

    @property
    def place(self) -> str:
        """Return `hogwild.py:4`."""
        return f"{self.file}:{self.line}"


def places(text: str) -> list[Mention]:
    """Return the places that a rank has sent; what it did not send as asked is left out."""
    try:
        sent = json.loads(text)
    # RecursionError: nested deeper than the reader can take.
    except (ValueError, RecursionError):
        return []
    return [Mention(*each) for each in sent if _is_place(each)] if isinstance(sent, list) else []


def assert_no_solver(launch: Launch) -> None:
    """Assert that nothing handed in imports scikit-learn or another solver.

    Raises RuleViolation with file, line and module; RunFailed where the files were not read.
    """
    outcomes = [outcome for _, outcome in launch.having(probe="read_sources")]
    imports = [each for outcome in outcomes for text in outcome["imports"] for each in places(text)]
    if imports:
        first, number = imports[0], len(imports)
        facts: dict[str, Any] = {"file": first.file, "name": first.name, "number": number}
        text = f"{first.place} imports {first.name}"
        text += f" ({number} such imports in all)." if number > 1 else "."
        raise RuleViolation.of("solver.imported", text, help=_HELP, place=first.place, **facts)


def first_named(text: str, wanted: Sequence[str]) -> list[Finding]:
    """Return where the files first name one of these; nothing if they name none.

    text: the `names` of the sources.
    """
    return [
        found("lock.named", f"{each.place} mentions {each.name}.", place=each.place, name=each.name)
        for each in places(text)
        if each.name in wanted
    ][:1]


def _is_place(each: Any) -> bool:
    return (
        isinstance(each, list)
        and [type(field) for field in each] == [str, int, str]
        and all(len(str(field)) < 200 for field in each)
    )
