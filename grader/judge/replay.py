"""Replays an asynchronous parameter server: in which order were the gradients applied, and rightly?

A master that applies one worker's gradients, replies to that worker and goes on gives every array
of the network a chain of values: from the start, each value is the one before it minus
learning_rate times the gradients of one batch, and the worker of that batch goes on with exactly
this value. What the workers' forward passes saw is therefore enough to put all updates in order,
whatever messages carried them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.judge.findings import WrongAnswer

Value = NDArray[np.float64]
Arrays = Mapping[str, Value]


@dataclass(frozen=True)
class Update:
    """One batch of one worker."""

    rank: int
    batch: int
    """0, 1, 2, ... among the batches of this worker."""
    before: Arrays
    """The parameters its forward pass saw."""
    gradient: Arrays
    """The oracle's gradient of the batch at `before`."""
    after: Arrays
    """The parameters the worker held next."""

    def __str__(self) -> str:
        return f"rank {self.rank}'s batch {self.batch}"


@dataclass(frozen=True)
class Replay:
    """The values each array went through, the start first."""

    values: Mapping[str, Sequence[Value]]


def replay(
    start: Arrays,
    updates: Sequence[Update],
    learning_rate: float,
    *,
    rtol: float,
    final: Arrays | None = None,
) -> Replay:
    """Return the chain of values of every array, with each update in it exactly once.

    final: what process 0 ends with; only used to say more when there is no such chain.
    Raises WrongAnswer where an array's chain breaks, with the reason as far as it can be read off.
    """
    values = {}
    for name in start:
        _assert_first_batches_saw(name, start[name], updates, rtol)
        chain, left_over = _chain(name, start[name], updates, learning_rate, rtol)
        if left_over:
            steps = [learning_rate * update.gradient[name] for update in updates]
            place = f"update {len(chain)} of {len(updates)} of {name}"
            reason = _reason(name, chain[-1], left_over, learning_rate, rtol)
            in_all = _in_all(start[name], steps, final[name], rtol) if final else ""
            raise WrongAnswer(f"{place}: {reason}{in_all}")
        values[name] = chain
    return Replay(values)


def assert_final(replayed: Replay, final: Arrays, *, rtol: float, rank: int = 0) -> None:
    """Assert that a rank ends with the last value of every array.

    Raises WrongAnswer: also says when it is an earlier value that the rank still holds.
    """
    for name, chain in replayed.values.items():
        held, num_updates = final[name], len(chain) - 1
        if _same(held, chain[-1], rtol):
            continue
        missing = (
            "at the end every master has to send the weights and the biases of its layers to "
            f"process {rank}"
        )
        earlier = next((i for i, value in enumerate(chain) if _same(held, value, rtol)), None)
        if earlier == 0:
            raise WrongAnswer(
                f"rank {rank} ends with the start values of {name}, though the workers saw it go "
                f"through {num_updates} updates; {missing}"
            )
        if earlier is not None:
            raise WrongAnswer(
                f"rank {rank} ends with the {name} that followed update {earlier} of "
                f"{num_updates}; {missing}"
            )
        at = tuple(int(i) for i in np.unravel_index(_worst(held, chain[-1]), held.shape))
        raise WrongAnswer(
            f"rank {rank}: {name}[{', '.join(map(str, at))}] is {held[at]:.10g}, "
            f"expected {chain[-1][at]:.10g} after {num_updates} updates; {missing}"
        )


def _assert_first_batches_saw(
    name: str, start: Value, updates: Sequence[Update], rtol: float
) -> None:
    for update in updates:
        if update.batch == 0 and not _same(update.before[name], start, rtol):
            raise WrongAnswer(
                f"{update} was computed with a {name} that is not the start value; "
                "a worker begins with the weights the network was built with"
            )


def _chain(
    name: str, start: Value, updates: Sequence[Update], learning_rate: float, rtol: float
) -> tuple[list[Value], list[Update]]:
    """Return the values as far as updates follow on each other, and the updates left over."""

    def value_before(update: Update) -> Value:
        return update.after[name] + learning_rate * update.gradient[name]

    chain, left_over = [start], list(updates)
    while left_over:
        # The closest, not the first: two values may be no further apart than rtol.
        following = min(left_over, key=lambda u: _distance(value_before(u), chain[-1]))
        if not _same(value_before(following), chain[-1], rtol):
            break
        left_over.remove(following)
        chain.append(following.after[name])
    return chain, left_over


def _reason(
    name: str, value: Value, left_over: Sequence[Update], learning_rate: float, rtol: float
) -> str:
    """Return why none of the updates left over leads on from `value`."""
    steps = {id(update): learning_rate * update.gradient[name] for update in left_over}

    for update in left_over:
        if _same(update.after[name], update.before[name], rtol):
            return (
                f"after {update} the worker held the very {name} it had computed that batch with: "
                "the master has to step before it replies, the worker has to take the reply"
            )
    for update in left_over:
        if _same(update.after[name], value, rtol):
            return (
                f"the {name} that came back for {update} does not contain that batch's gradients; "
                "step first, then reply"
            )
    for update in left_over:
        for other in left_over:
            both = steps[id(update)] + steps[id(other)]
            if other is not update and _same(update.after[name] + both, value, rtol):
                return (
                    f"the {name} that came back for {update} already contained the gradients of "
                    f"{other}; a master applies one worker's gradients, replies to that worker, "
                    "and goes on"
                )
            if other is not update and _same(update.after[name] + steps[id(other)], value, rtol):
                return (
                    f"the {name} that came back for {update} was stepped by the gradients of "
                    f"{other}; after the first message of a worker, take the others from the "
                    "same source"
                )
    for update in left_over:
        factor = _factor(value - update.after[name], steps[id(update)], rtol)
        if factor is not None:
            return (
                f"for {update}, {name} was changed by {-factor:.6g} times learning_rate times the "
                f"gradient, expected -1 times"
            )
    ranks = sorted({update.rank for update in left_over})
    return (
        f"no worker holds a {name} that is the value before it minus learning_rate times the "
        f"gradients of one of its batches (looked at ranks {', '.join(map(str, ranks))})"
    )


def _in_all(start: Value, steps: Sequence[Value], final: Value, rtol: float) -> str:
    """Return what the sum of all updates says, in which their order does not count."""
    if _same(final, start, rtol):
        return ""
    total = np.sum(steps, axis=0)
    if _same(start - total, final, rtol):
        return (
            "; in all, process 0 holds the start minus learning_rate times all gradients: nothing "
            "was lost, only the order of stepping and replying is not right"
        )
    for step in steps:
        if _same(start - total + step, final, rtol):
            return "; in all, the gradients of one batch are missing on process 0"
        if _same(start - total - step, final, rtol):
            return "; in all, the gradients of one batch were applied twice on process 0"
    factor = _factor(start - final, total, rtol)
    if factor is not None:
        return f"; in all, process 0 changed by {factor:.6g} times what all gradients make"
    return (
        "; in all, what process 0 holds is not the start minus learning_rate times all gradients "
        "either: gradients were lost, changed, or applied twice"
    )


def _factor(change: Value, step: Value, rtol: float) -> float | None:
    """Return c such that change is c times step in every element; None if there is none."""
    if step.size < 2 or not step.any():
        return None
    factor = float(np.vdot(step, change) / np.vdot(step, step))
    return factor if _same(change, factor * step, rtol) else None


def _same(found: Value, expected: Value, rtol: float) -> bool:
    """Return whether two arrays agree to rtol of the largest element, or of 1 if it is smaller."""
    largest = float(np.max(np.abs(expected), initial=1.0))
    return found.shape == expected.shape and bool(
        (np.abs(found - expected) <= rtol * largest).all()
    )


def _distance(found: Value, expected: Value) -> float:
    """Return the largest difference; infinite where a value is not a number."""
    largest = float(np.max(np.abs(found - expected), initial=0.0))
    return np.inf if np.isnan(largest) else largest


def _worst(found: Value, expected: Value) -> int:
    return int(np.argmax(np.abs(found - expected)))
