"""Replays an asynchronous parameter server: in which order were the gradients applied, and how?

A master that applies one worker's gradients, replies to that worker and goes on gives every array
of the network a chain of values: from the start, each value is the one before it minus
learning_rate times the gradients of one batch, and the worker of that batch goes on with exactly
this value. What the workers' forward passes saw is therefore enough to put all updates in order,
whatever messages carried them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from grader.api import WrongAnswer, assert_every_rank, counted, found

from .reasons_first import led_by
from .replay_reasons import reason_of_break, told_by_the_sum
from .updates import Arrays, Update, Value, same

_GATHER = "at the end, every master must send the weights and biases of its layers to rank 0"


def replay(
    start: Arrays,
    updates: Sequence[Update],
    learning_rate: float,
    *,
    rtol: float,
    final: Arrays | None = None,
) -> dict[str, list[Value]]:
    """Return the chain of values of every array, the start first, with each update in it once.

    final: what rank 0 ends with; only used to say more when there is no such chain.
    Raises WrongAnswer where an array's chain breaks, with the reason as far as it can be read off.
    """
    chains = {}
    for name in start:
        _assert_first_batches_saw(name, start[name], updates, rtol)
        chain, left_over = _chain(name, start[name], updates, learning_rate, rtol)
        if left_over:
            steps = [learning_rate * update.gradient[name] for update in updates]
            reason = reason_of_break(name, chain, left_over, learning_rate, rtol)
            in_all = told_by_the_sum(start[name], steps, final[name], rtol) if final else None
            text = f"The mistake first shows at update {len(chain)} of {len(updates)} to {name}."
            place = found("async.seen_at_update", text, number=len(chain), name=name)
            raise WrongAnswer(reason, *([in_all] if in_all else []), place)
        chains[name] = chain
    return chains


def assert_final(chains: Mapping[str, Sequence[Value]], final: Arrays, *, rtol: float) -> None:
    """Assert that rank 0 ends with the last value of every array.

    chains: the values that each array went through, the start first.
    Raises WrongAnswer: also says when it is an earlier value that it still holds.
    """
    for name, chain in chains.items():
        held, num_updates = final[name], len(chain) - 1
        if same(held, chain[-1], rtol):
            continue
        earlier = next((i for i, value in enumerate(chain) if same(held, value, rtol)), None)
        if earlier == 0:
            text = (
                f"Rank 0 ended with the start values of {name}: "
                f"{counted(num_updates, 'update is', 'updates are')} missing."
            )
            raise WrongAnswer.of("async.final_values_missing", text, help=_GATHER, name=name)
        if earlier is not None:
            text = f"Rank 0 ended with the value of {name} after update {earlier} of {num_updates}."
            facts = {"name": name, "number": earlier}
            raise WrongAnswer.of("async.final_values_outdated", text, help=_GATHER, **facts)
        try:
            assert_every_rank([held], equals=chain[-1], name=name, rtol=rtol, atol=rtol)
        except WrongAnswer as error:
            text = f"Rank 0's final {name} differs from its value after the last update."
            reason = found("async.final_values_wrong", text, help=_GATHER, name=name)
            raise led_by(error, reason) from None


def _assert_first_batches_saw(
    name: str, start: Value, updates: Sequence[Update], rtol: float
) -> None:
    for update in updates:
        if update.batch == 0 and not same(update.before[name], start, rtol):
            rank = update.rank
            text = f"Rank {rank} did not use the start values of {name} for its first batch."
            helps = "a worker begins with the weights that its network already has"
            raise WrongAnswer.of("async.other_start", text, help=helps, rank=rank, name=name)


def _chain(
    name: str, start: Value, updates: Sequence[Update], learning_rate: float, rtol: float
) -> tuple[list[Value], list[Update]]:
    """Return the values as far as updates follow on each other, and the updates left over."""
    chain, left = [start], list(range(len(updates)))
    before = np.array([each.after[name] + learning_rate * each.gradient[name] for each in updates])
    while left:
        # The closest, not the first: two values may be no further apart than rtol.
        apart = np.abs(before[left] - chain[-1]).reshape(len(left), -1).max(axis=1, initial=0.0)
        following = left[int(np.argmin(np.where(np.isnan(apart), np.inf, apart)))]
        if not same(before[following], chain[-1], rtol):
            break
        left.remove(following)
        chain.append(updates[following].after[name])
    return chain, [updates[number] for number in left]
