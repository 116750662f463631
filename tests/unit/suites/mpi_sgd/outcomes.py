"""Outcomes made by hand: what a run would have brought back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grader.model import Outcome
from grader.suite.case import Case
from grader.trace.calls import Trace


def outcome(case: Case, inputs: Sequence[Mapping[str, Any]], results: Sequence[Any]) -> Outcome:
    """Return the outcome of a case whose ranks returned `results`; no call was recorded."""
    return Outcome(
        label=case.label,
        ranks=len(inputs),
        inputs=tuple(inputs),
        results=tuple(results),
        trace=Trace(()),
        wall_time_s=0.0,
    )


def inputs_of(case: Case, ranks: int, seed: int = 0) -> Sequence[Mapping[str, Any]]:
    """Return inputs as the runner would make them."""
    return case.inputs(np.random.default_rng(seed), ranks)
