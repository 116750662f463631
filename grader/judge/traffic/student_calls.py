"""Which of the calls that a launch's traces hold are the student's, for rules to be about."""

from dataclasses import replace

import numpy as np

from grader.recording.launch_plan import LaunchPlan
from grader.trace.calls import RankTrace, Trace
from grader.trace.functions import BY_OTHER_THAN_MESSAGES


class StudentCalls:
    """Looks at the cases of one launch, one after the other."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._phases = plan.student_phases
        self._is_mpi = plan.is_mpi
        self._has_called: set[int] = set()
        """Ranks that the student's code has called MPI in."""

    def of(self, trace: Trace, *, all_count: bool = False) -> Trace:
        """Return the calls of a case that rules are about; all_count: of torch, those are all."""
        if not self._is_mpi:
            return trace if all_count else trace.of_phases(self._phases)
        return replace(trace, ranks=tuple(map(self._of_rank, trace.ranks)))

    def _of_rank(self, seen: RankTrace) -> RankTrace:
        """Return one rank's calls of the student's phases.

        With them whatever moves data by other means than messages, once the student's code has
        called anything: ours does not, nobody judges a yardstick, and what ours calls may have been
        replaced. Before, files are imported.
        Where calls were lost no rule can be judged: no others than those are kept then.
        """
        calls = seen.calls
        is_counted = np.isin(calls.column("phase"), self._phases)
        has_called = np.logical_or.accumulate(is_counted) | (seen.rank in self._has_called)
        # Where calls are lost, nobody knows whether the student's code has made some.
        if is_counted.any() or seen.truncated:
            self._has_called.add(seen.rank)
        is_judged = has_called & calls.function_is(BY_OTHER_THAN_MESSAGES.__contains__)
        if not seen.truncated:
            is_judged |= is_counted
        return replace(seen, calls=calls.where(is_judged))
