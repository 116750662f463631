"""Whether ranks compute the gradients of a step at the same time, or one after another."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Outcome, RuleViolation, Trace, found, functions

from .fit_cases import Fit

Times = NDArray[np.int64]
_FEWEST_STEPS = 3
"""A rank may have received what came early, once or twice, without having waited for it."""


def assert_ranks_compute_at_once(case: Fit, outcome: Outcome) -> None:
    """Assert that no rank begins its gradients only after another one, done with them, told it so.

    That shows in numbers of calls: whenever it begins, the rank has received more messages from the
    other than that one had sent before its gradient was ready, or has been through more collectives
    than it had begun. Not judged by few steps, or where calls are lost. Raises RuleViolation.
    """
    trace = outcome.trace
    if any(seen.truncated for seen in trace.ranks):
        return
    for late, early in permutations(range(outcome.ranks), 2):
        began_ns, ended_ns = outcome["began_ns"][late], outcome["ended_ns"][early]
        num_steps = min(len(began_ns), len(ended_ns))
        for got_ns, gave_ns in _told(trace, late, early):
            num_got = np.searchsorted(np.sort(got_ns), began_ns[:num_steps])
            num_given = np.searchsorted(np.sort(gave_ns), ended_ns[:num_steps])
            if num_steps >= _FEWEST_STEPS and (num_got > num_given).all():
                text = (
                    f"In each of {num_steps} steps, rank {late} began to compute only after rank "
                )
                text += f"{early} had its gradients and told it so."
                helps = "all ranks must compute at the same time, and exchange gradients afterwards"
                facts: dict[str, Any] = {"rank": late, "other": early}
                raise RuleViolation(found("sgd.one_after_another", text, help=helps, **facts))


def _told(trace: Trace, late_rank: int, early_rank: int) -> Iterator[tuple[Times, Times]]:
    """Yield when a rank had received something of another's, and when that one had begun to give.

    By messages, and by the collectives of each communicator that both are in.
    """
    late, early = (trace.ranks[rank].calls for rank in (late_rank, early_rank))
    completed_ns, entered_ns = late.column("completed_ns"), early.column("entered_ns")
    is_done = completed_ns > 0
    is_from = late.flag("is_receive") & (late.column("matched_source") == early_rank)
    is_to = early.flag("is_send") & (early.column("peer") == late_rank)
    yield completed_ns[is_done & is_from], entered_ns[is_to]
    through, begun = (
        each.function_is(functions.COLLECTIVES.__contains__) for each in (late, early)
    )
    through &= is_done
    known = [each.column("communicator") for each in (late, early)]
    for communicator in {*known[0][through].tolist()} & {*known[1][begun].tolist()}:
        is_late, is_early = (each == communicator for each in known)
        yield completed_ns[through & is_late], entered_ns[begun & is_early]
