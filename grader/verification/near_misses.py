"""Near misses: a solution whose numbers are slightly wrong, made from the right one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grader.model import Outcome
from grader.runner.plan import Launched, Plan

Launcher = Callable[[Plan], Launched]


@dataclass
class NearMiss:
    """A launcher whose results have floating-point numbers that are too large.

    What the ranks did, and what they print, stays right.
    """

    inner: Launcher
    relative: float
    """By how much of themselves the numbers are too large."""
    num_changed: int = field(default=0, init=False)
    """How many results held such numbers."""

    def launch(self, plan: Plan) -> Launched:
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
        return {name: self._too_large(value) for name, value in results.items()}

    def _too_large(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray | np.floating) or value.dtype.kind != "f":
            return value
        changed = (value * value.dtype.type(1 + self.relative)).astype(value.dtype)
        self.num_changed += not np.array_equal(changed, value, equal_nan=True)
        return changed
