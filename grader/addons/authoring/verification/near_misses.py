"""Near misses: a solution whose numbers are slightly wrong, made from the right one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import CaseObservation, LaunchObservation, Observer


def changeable_names(observations: Iterable[LaunchObservation]) -> list[str]:
    """Return the results that held floating-point numbers, on any rank of any case."""
    ranks = (rank for observed in observations for case in observed.cases for rank in case.ranks)
    return sorted({name for rank in ranks for name in _changeable(rank.arrays)})


@dataclass(frozen=True)
class NearMiss:
    """An observer of which one result is too large; what the ranks did stays right."""

    inner: Observer
    name: str
    relative: float
    """By how much of itself each of its numbers is too large."""

    def observe(self, plan: LaunchPlan) -> LaunchObservation:
        """Put a plan to ranks; change what comes back."""
        observed = self.inner(plan)
        return replace(observed, cases=tuple(map(self._missed, observed.cases)))

    def _missed(self, case: CaseObservation) -> CaseObservation:
        ranks = (replace(rank, arrays=self._changed(rank.arrays)) for rank in case.ranks)
        return replace(case, ranks=tuple(ranks))

    def _changed(self, arrays: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        if self.name not in _changeable(arrays):
            return arrays
        right = arrays[self.name]
        return {**arrays, self.name: (right * right.dtype.type(1 + self.relative))}


def _changeable(arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return the results with floating-point numbers of which not all are 0."""
    return [name for name, array in arrays.items() if array.dtype.kind == "f" and np.any(array)]
