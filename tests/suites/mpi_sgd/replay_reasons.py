"""Why a chain of updates breaks: what a master or worker may have done instead."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.api import Finding, found

from .updates import Update, Value, same


def reason_of_break(
    name: str,
    chain: Sequence[Value],
    left_over: Sequence[Update],
    learning_rate: float,
    rtol: float,
) -> Finding:
    """Return why none of the updates left over leads on from the last value of the chain."""
    value = chain[-1]
    steps = {id(update): learning_rate * update.gradient[name] for update in left_over}

    for update in left_over:
        if same(update.after[name], update.before[name], rtol):
            return found(
                "async.reply_before_step",
                f"Rank {update.rank}'s {name} did not change after its batch {update.batch}: "
                "the master replied before its step, or the worker ignored the reply.",
                help="check the order: the master must step first, then reply",
                **_facts(update, name),
            )
    for update in left_over:
        if same(update.after[name], value, rtol):
            return found(
                "async.reply_without_gradients",
                f"The {name} sent back for {update} did not contain that batch's gradients.",
                help="check the order: the master must step first, then reply",
                **_facts(update, name),
            )
    pairs = [(one, other) for one in left_over for other in left_over if one is not other]
    for update, other in pairs:
        if same(update.after[name] + steps[id(other)], value, rtol):
            return found(
                "async.gradients_mixed_up",
                f"The {name} sent back for {update} was updated with the gradients of {other}.",
                help="from which source does the master receive the rest of a worker's messages?",
                **_facts(update, name),
                other=other.rank,
            )
    for update, other in pairs:
        if same(update.after[name] + steps[id(update)] + steps[id(other)], value, rtol):
            return found(
                "async.late_reply",
                f"The {name} sent back for {update} already contained the gradients of {other}.",
                help="a master applies one worker's gradients, answers that worker, and continues",
                **_facts(update, name),
                other=other.rank,
            )
    for update in left_over:
        for number, stale in enumerate(chain[:-1]):
            if same(update.after[name] + steps[id(update)], stale, rtol):
                since = "the start value" if number == 0 else f"the value after update {number}"
                return found(
                    "async.step_from_old_value",
                    f"For {update}, the master updated {name} from {since}, not from the "
                    "latest value.",
                    help="each step must start from the result of the previous step",
                    **_facts(update, name),
                    number=number,
                )
    for update in left_over:
        factor = _factor(value - update.after[name], steps[id(update)], rtol)
        if factor is not None:
            told = f"{-factor:.6g}"
            return found(
                "async.scaled_step",
                f"For {update}, {name} changed by {told} x learning_rate x gradient; "
                "expected -1 x learning_rate x gradient.",
                help="does the master divide or scale the gradients?",
                **_facts(update, name),
                factor=float(told),
            )
    return found(
        "async.no_such_step",
        f"No worker's next {name} was the previous value minus learning_rate times the gradients "
        "of one batch.",
        name=name,
        ranks=sorted({update.rank for update in left_over}),
    )


def told_by_the_sum(
    start: Value, steps: Sequence[Value], final: Value, rtol: float
) -> Finding | None:
    """Return what the sum of all updates says, in which their order does not count.

    final: what rank 0 ends with. None where that is the start.
    """
    if same(final, start, rtol):
        return None
    total = np.sum(steps, axis=0)
    if same(start - total, final, rtol):
        text = "Rank 0's total is correct, so no gradient was lost: look at the order of step "
        text += "and reply, and at what the workers do with a reply."
        return found("async.only_order_wrong", text)
    for step in steps:
        if same(start - total + step, final, rtol):
            text = "Overall, the gradients of one batch are missing on rank 0."
            return found("async.one_batch_lost", text)
        if same(start - total - step, final, rtol):
            text = "Overall, the gradients of one batch were applied twice on rank 0."
            return found("async.one_batch_twice", text)
    factor = _factor(start - final, total, rtol)
    if factor is not None:
        told = f"{factor:.6g}"
        text = f"Overall, the values on rank 0 changed by {told} times the sum of all steps."
        return found("async.all_scaled", text, factor=float(told))
    text = "Overall, gradients were lost, changed, or applied twice on rank 0."
    return found("async.gradients_lost", text)


def _facts(update: Update, name: str) -> dict[str, Any]:
    return {"rank": update.rank, "batch": update.batch, "name": name}


def _factor(change: Value, step: Value, rtol: float) -> float | None:
    """Return c such that change is c times step in every element; None if there is none."""
    if step.size < 2 or not step.any():
        return None
    factor = float(np.vdot(step, change) / np.vdot(step, step))
    return factor if same(change, factor * step, rtol) else None
