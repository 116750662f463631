"""The case of the formulas: random arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.api import (
    Array,
    Case,
    Data,
    Outcome,
    RunFailed,
    RunFailure,
    Text,
    Verdict,
    found,
)

FILE = "communication.py"

VOLUMES = (
    *("naive_all_reduce", "ring_all_reduce", "tree_all_reduce"),
    *("parameter_server", "fed_avg"),
)
TIMES = ("tree_reduce_time", "ring_reduce_time", "tree_all_reduce_time", "ring_all_reduce_time")

_NUM_RANDOM = 12


@dataclass(frozen=True)
class Formulas(Case):
    """All functions at random arguments."""

    @property
    def label(self) -> str:
        """Return what the functions are called with."""
        return "random arguments"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return small and large arguments; one process, and two, are among them."""
        numbers = [1, 2, 3, 4, 5, 8, *random.integers(6, 200, size=_NUM_RANDOM - 6).tolist()]
        volumes = [
            [int(random.integers(1, 100_000)), number, int(random.integers(2, 500))]
            for number in numbers
        ]
        arguments = {
            **{name: volumes for name in VOLUMES},
            **{name: [[number] for number in numbers] for name in TIMES},
        }
        same = {"file": FILE, "names": list(arguments), "arguments": arguments}
        return [same] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the values of each function."""
        values: dict[str, Array | Text] = {
            name: Array("float64", (_NUM_RANDOM,), finite=False) for name in [*VOLUMES, *TIMES]
        }
        problems = {f"{name} problem": Text() for name in values}
        return {**values, **problems, "counts_server": Array("int64", (1,))}


def assert_closed_form(case: Formulas, outcome: Outcome, name: str) -> None:
    """Assert that a function is correct at all of its arguments.

    Raises WrongAnswer, and RunFailed for a function that raises or is not written.
    """
    from .formulas import assert_time, assert_volume  # which students do not get

    assert_called(case, outcome, name)
    values = outcome[name][0]
    arguments = outcome.inputs[0]["arguments"][name]
    if name in TIMES:
        assert_time(name, arguments, values)
    else:
        counts_server = bool(outcome["counts_server"][0][0])
        assert_volume(name, arguments, values, counts_server=counts_server)


def assert_called(case: Formulas, outcome: Outcome, name: str) -> None:
    """Assert that a function returns a number for all of its arguments.

    Raises RunFailed for a function that raises or is not written.
    """
    problem = outcome[f"{name} problem"][0]
    if problem.startswith("NotImplementedError"):
        told = found("formula.not_written", f"{name} is not written yet: {problem}", name=name)
        raise RunFailed(RunFailure.of(Verdict.NOT_ATTEMPTED, told))
    if problem:
        told = found("formula.raises", f"{name} raised {problem}", name=name)
        raise RunFailed(RunFailure.of(Verdict.RUN_TIME_ERROR, told))
