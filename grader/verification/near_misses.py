"""Near misses: a solution whose numbers are slightly wrong, made from the right one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grader.judge.explanation import LaunchResult
from grader.model import Outcome
from grader.recording.launch_plan import LaunchPlan
from grader.recording.plan_key import plan_key

Launcher = Callable[[LaunchPlan], LaunchResult]


@dataclass(frozen=True)
class Recording:
    """A launcher that starts ranks once for each plan, and then gives the same answers again."""

    inner: Launcher
    _launched: dict[str, LaunchResult] = field(default_factory=dict, init=False)

    def launch(self, plan: LaunchPlan) -> LaunchResult:
        """Put a plan to ranks, unless one like it has been."""
        key = plan_key(plan)
        if key not in self._launched:
            self._launched[key] = self.inner(plan)
        return self._launched[key]

    def names(self) -> list[str]:
        """Return the results that held floating-point numbers, on any rank of any case."""
        return sorted({name for results in self._results() for name in _changeable(results)})

    def _results(self) -> Iterator[Mapping[str, Any]]:
        for launched in self._launched.values():
            for outcome in launched.outcomes:
                if isinstance(outcome, Outcome):
                    yield from outcome.results


@dataclass(frozen=True)
class NearMiss:
    """A launcher of which one result is too large; what the ranks did stays right."""

    inner: Launcher
    name: str
    relative: float
    """By how much of itself each of its numbers is too large."""

    def launch(self, plan: LaunchPlan) -> LaunchResult:
        """Put a plan to ranks; change what comes back."""
        launched = self.inner(plan)
        outcomes = tuple(
            replace(each, results=tuple(map(self._missed, each.results)))
            if isinstance(each, Outcome)
            else each
            for each in launched.outcomes
        )
        return replace(launched, outcomes=outcomes)

    def _missed(self, results: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.name not in _changeable(results):
            return results
        right = results[self.name]
        return {**results, self.name: (right * right.dtype.type(1 + self.relative))}


def _changeable(results: Mapping[str, Any]) -> list[str]:
    """Return the results with floating-point numbers of which not all are 0."""
    return [
        name
        for name, value in results.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.any(value)
    ]
