"""Why a chain of updates breaks: what a master or worker may have done instead."""

from collections.abc import Sequence

import numpy as np

from grader.api import ranks_text

from .updates import Update, Value, same


def reason_of_break(
    name: str,
    chain: Sequence[Value],
    left_over: Sequence[Update],
    learning_rate: float,
    rtol: float,
) -> str:
    """Return why none of the updates left over leads on from the last value of the chain."""
    value = chain[-1]
    steps = {id(update): learning_rate * update.gradient[name] for update in left_over}

    for update in left_over:
        if same(update.after[name], update.before[name], rtol):
            return (
                f"after {update} the worker held the very {name} it had computed that batch with: "
                "the master has to step before it replies, the worker has to take the reply"
            )
    for update in left_over:
        if same(update.after[name], value, rtol):
            return (
                f"the {name} that came back for {update} does not contain that batch's gradients; "
                "step first, then reply"
            )
    for update in left_over:
        for other in left_over:
            both = steps[id(update)] + steps[id(other)]
            if other is not update and same(update.after[name] + both, value, rtol):
                return (
                    f"the {name} that came back for {update} already contained the gradients of "
                    f"{other}; a master applies one worker's gradients, replies to that worker, "
                    "and goes on"
                )
            if other is not update and same(update.after[name] + steps[id(other)], value, rtol):
                return (
                    f"the {name} that came back for {update} was stepped by the gradients of "
                    f"{other}; after the first message of a worker, take the others from the "
                    "same source"
                )
    for update in left_over:
        for number, stale in enumerate(chain[:-1]):
            if same(update.after[name] + steps[id(update)], stale, rtol):
                since = "the start value" if number == 0 else f"the value of update {number}"
                return (
                    f"for {update}, the master stepped {name} from {since}, not from its latest; "
                    "every step goes on from the one before"
                )
    for update in left_over:
        factor = _factor(value - update.after[name], steps[id(update)], rtol)
        if factor is not None:
            return (
                f"for {update}, {name} was changed by {-factor:.6g} times learning_rate times the "
                f"gradient, expected -1 times"
            )
    looked_at = ranks_text(update.rank for update in left_over)
    return (
        f"no worker holds a {name} that is the value before it minus learning_rate times the "
        f"gradients of one of its batches (looked at {looked_at})"
    )


def told_by_the_sum(start: Value, steps: Sequence[Value], final: Value, rtol: float) -> str:
    """Return what the sum of all updates says, in which their order does not count.

    final: what process 0 ends with. Empty where that is the start.
    """
    if same(final, start, rtol):
        return ""
    total = np.sum(steps, axis=0)
    if same(start - total, final, rtol):
        return (
            "in all, process 0 holds the start minus learning_rate times all gradients: nothing "
            "was lost, only the order of stepping and replying is not right"
        )
    for step in steps:
        if same(start - total + step, final, rtol):
            return "in all, the gradients of one batch are missing on process 0"
        if same(start - total - step, final, rtol):
            return "in all, the gradients of one batch were applied twice on process 0"
    factor = _factor(start - final, total, rtol)
    if factor is not None:
        return f"in all, process 0 changed by {factor:.6g} times what all gradients make"
    return (
        "in all, what process 0 holds is not the start minus learning_rate times all gradients: "
        "gradients were lost, changed, or applied twice"
    )


def _factor(change: Value, step: Value, rtol: float) -> float | None:
    """Return c such that change is c times step in every element; None if there is none."""
    if step.size < 2 or not step.any():
        return None
    factor = float(np.vdot(step, change) / np.vdot(step, step))
    return factor if same(change, factor * step, rtol) else None
