"""How a suite has messages altered on their way, and learns what depended on them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.grading_plugin.case import Case
from grader.grading_plugin.launch_results import Launch, RunFailed
from grader.judge.check_failures import WrongAnswer
from grader.judge.traffic.fault_effects import FaultEffect, effect_of
from grader.judge.traffic.message_faults import in_drawn_order
from grader.model.report import MessageFault, Outcome, RunFailure


def inject_faults(
    run: Callable[..., Launch],
    ranks: int,
    case: Any,
    outcome: Outcome,
    messages: Sequence[MessageFault],
    check: Callable[[Any, Outcome], object],
    wrong_ranks: Callable[[Any, Outcome], Collection[int]] | None = None,
    tries_elsewhere: bool = False,
) -> list[FaultEffect]:
    """Run the case once for each fault, and return the effects.

    Between them, in an order that cannot be predicted, the ranks also run the case without a
    fault. If a submission fails or answers wrongly in one of these runs, the failure is its own.
    After a fault that ends its run, the remaining cases continue in a new launch.

    outcome: of the case, or one like it, as it was before.
    check: raises WrongAnswer when an answer is wrong.
    wrong_ranks: those whose answers are wrong; if it is left out, all ranks if `check` raises.
    tries_elsewhere: alter up to two other elements if the code ends the run because of one, or no
    answer changes: correct code may use one number as an index, and only a slice of a message.
    Raises RunFailed, WrongAnswer: in a case without a fault, which is the submission's own failure.
    """

    def inject(messages: Sequence[MessageFault]) -> list[FaultEffect]:
        cases: list[Case] = [replace(case, message_fault=message) for message in messages]
        # Two at least: one alone may be right by luck.
        num_unaltered = max(2, len(messages) // 2 + 1)
        cases += [replace(case, repetition=number + 1) for number in range(num_unaltered)]
        effects: list[FaultEffect] = []
        if not messages:
            return effects
        for each, answer in run(ranks, tuple(in_drawn_order(outcome, cases))).answers():
            if each.message_fault is not None:
                find_wrong = _ranks_found_by(each, check, wrong_ranks)
                effects.append(effect_of(each.message_fault, answer, ranks, find_wrong))
            elif isinstance(answer, RunFailure):
                raise RunFailed(answer)
            else:
                check(each, answer)
        return effects

    effects = {each.message: each for each in inject(messages)}
    for part in (1 / 3, 2 / 3) if tries_elsewhere else ():
        unclear = [
            message
            for message, each in effects.items()
            if each.noticed or (each.happened and not each.influenced)
        ]
        first = {replace(each, position=(each.position + part) % 1): each for each in unclear}
        for each in inject([*first]):
            if each.happened and each.influenced:
                effects[first[each.message]] = each
    return [*effects.values()]


def _ranks_found_by(
    case: Any,
    check: Callable[[Any, Outcome], object],
    wrong_ranks: Callable[[Any, Outcome], Collection[int]] | None,
) -> Callable[[Outcome], Collection[int]]:
    def find(outcome: Outcome) -> Collection[int]:
        if wrong_ranks is not None:
            return wrong_ranks(case, outcome)
        try:
            check(case, outcome)
        except (WrongAnswer, np.linalg.LinAlgError):  # the oracle cannot explain such numbers
            return range(outcome.ranks)
        return ()

    return find
