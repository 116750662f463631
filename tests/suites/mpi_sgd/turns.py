"""Whether ranks compute the gradients of a step at the same time, or one after another."""

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from grader.api import (
    Call,
    Outcome,
    RuleViolation,
    found,
    functions,
)

from .fit_cases import Fit


def assert_ranks_compute_at_once(case: Fit, outcome: Outcome) -> None:
    """Assert that no rank begins a gradient only after another one, done with its own, told it so.

    That shows in numbers of calls: when it begins, the rank has received more messages from the
    other than that one had sent before its gradient was ready, or has been through more collectives
    than it had begun. Not judged where calls are lost. Raises RuleViolation.
    """
    if any(seen.truncated for seen in outcome.trace.ranks):
        return
    calls = [list(seen.calls) for seen in outcome.trace.ranks]
    for late, early in permutations(range(outcome.ranks), 2):
        began_ns, ended_ns = outcome["began_ns"][late], outcome["ended_ns"][early]
        num_steps = min(len(began_ns), len(ended_ns))
        for got_ns, gave_ns in _told(calls[late], late, calls[early], early):
            num_got, num_given = (
                np.searchsorted(np.sort(at_ns), until_ns)
                for at_ns, until_ns in (
                    (got_ns, began_ns[:num_steps]),
                    (gave_ns, ended_ns[:num_steps]),
                )
            )
            if (num_got > num_given).any():
                step = int(np.argmax(num_got > num_given))
                text = f"In step {step}, rank {late} began to compute only after rank {early} "
                text += "had its gradients and told it so."
                helps = "all ranks must compute at the same time; exchange gradients afterwards"
                facts = {"rank": late, "other": early, "step": step}
                raise RuleViolation(found("sgd.one_after_another", text, help=helps, **facts))


def _told(
    late: list[Call], late_rank: int, early: list[Call], early_rank: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield when a rank had received something of another's, and when that one had begun to give.

    By messages, and by the collectives of each communicator that both are in.
    """
    done = [call for call in late if call.completed_ns > 0]
    yield (
        [
            call.completed_ns
            for call in done
            if call.is_receive and call.matched_source == early_rank
        ],
        [call.entered_ns for call in early if call.is_send and call.peer == late_rank],
    )
    of_late, of_early = (
        [call for call in calls if call.function in functions.COLLECTIVES]
        for calls in (done, early)
    )
    both = {call.communicator for call in of_late} & {call.communicator for call in of_early}
    for communicator in both:
        yield (
            [call.completed_ns for call in of_late if call.communicator == communicator],
            [call.entered_ns for call in of_early if call.communicator == communicator],
        )
