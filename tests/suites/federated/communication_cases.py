"""The cases of the formulas: random arguments, and transfers whose elements are counted."""

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
    WrongAnswer,
    assert_not_truncated,
    bytes_sent,
    case_context,
    found,
)

FILE = "communication.py"
FLOAT64_NUM_BYTES = 8

WAYS: Mapping[str, str] = {
    "naive_all_reduce": "naive",
    "ring_all_reduce": "ring",
    "tree_all_reduce": "tree",
    "parameter_server": "star",
    "fed_avg": "star",
}
"""How the numbers of a formula travel: a step with a server goes to it and back again."""
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
            **{name: volumes for name in WAYS},
            **{name: [[number] for number in numbers] for name in TIMES},
        }
        same = {"file": FILE, "names": list(arguments), "arguments": arguments}
        return [same] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the values of each function."""
        values: dict[str, Array | Text] = {
            name: Array("float64", (_NUM_RANDOM,), finite=False) for name in [*WAYS, *TIMES]
        }
        problems = {f"{name} problem": Text() for name in values}
        return {**values, **problems, "counts_server": Array("int64", (1,))}


@dataclass(frozen=True, kw_only=True)
class Transfer(Case):
    """Arrays that really travel, and the formula that says how many numbers they have."""

    function: str
    num_parameters: int = 60
    num_times: int = 3

    @property
    def label(self) -> str:
        """Return the formula and its arguments other than the number of processes."""
        return (
            f"{self.function}, {self.num_parameters} parameters, {self.num_times} "
            f"{'rounds' if self.function == 'fed_avg' else 'steps'}"
        )

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same for every rank."""
        same = {
            "file": FILE,
            "function": self.function,
            "way": WAYS[self.function],
            "num_parameters": self.num_parameters,
            "num_times": self.num_times,
        }
        return [same] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array]:
        """Return the form of what the formula said."""
        return {"formula": Array("float64", (1,), finite=False)}


def assert_closed_form(case: Formulas, outcome: Outcome, name: str) -> None:
    """Assert that a function is correct at all of its arguments.

    Raises WrongAnswer, and RunFailed for a function that raises or is not written.
    """
    from .formulas import assert_time, assert_volume  # which students do not get

    problem = outcome[f"{name} problem"][0]
    if problem.startswith("NotImplementedError"):
        told = found("formula.not_written", f"{name} is not written yet: {problem}", name=name)
        raise RunFailed(RunFailure.of(Verdict.NOT_ATTEMPTED, told))
    if problem:
        told = found("formula.raises", f"{name} raised {problem}", name=name)
        raise RunFailed(RunFailure.of(Verdict.RUN_TIME_ERROR, told))
    values = outcome[name][0]
    arguments = outcome.inputs[0]["arguments"][name]
    if name in TIMES:
        assert_time(name, arguments, values)
    else:
        counts_server = bool(outcome["counts_server"][0][0])
        assert_volume(name, arguments, values, counts_server=counts_server)


def assert_measured(case: Transfer, outcome: Outcome) -> None:
    """Assert that a formula says how many numbers really left the ranks.

    Raises WrongAnswer with both, NotProven for a trace that is incomplete.
    """
    assert_not_truncated(outcome.trace)
    measured = sum(bytes_sent(outcome.trace)) / FLOAT64_NUM_BYTES
    said = outcome["formula"][0][0]
    if abs(said - measured) > 1e-9 * measured:
        with case_context(case, outcome):
            did = f"{case.function} returned {said:.12g} elements"
            text = f"{did}; a run with {outcome.ranks} processes sent {measured:.12g}."
            raise WrongAnswer(found("volume.not_as_measured", text, name=case.function))
