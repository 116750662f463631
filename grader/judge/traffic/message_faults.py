"""Which messages are altered on their way, and where: cannot be told beforehand.

The choice is drawn from the inputs of an earlier case, and so from the secret that these come from.
"""

import hashlib
import random
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

import numpy as np

from grader.judge.traffic.counting import are_sends, recorded_sends
from grader.model.report import MessageFault, Outcome
from grader.trace.calls import Call, Calls, Mask, Trace
from grader.trace.functions import ALTERABLE_COLLECTIVES, gloo_operation

Item = TypeVar("Item")


def single_message_faults(outcome: Outcome) -> tuple[MessageFault, ...]:
    """Return messages to alter one at a time: those of one rank, and one of every other rank.

    With n ranks, at most 2 (n - 1) messages of the one rank, drawn from those it sends: as many as
    a ring needs. Code that sends an array element by element sends thousands.
    outcome: of the same call, on other values. Its inputs, which students cannot know, decide
    which rank, which messages and which elements; so the choice is the same at every regrade.
    """
    choice = _choice_from(outcome)
    numbers = {
        rank: _numbers_of_sends(outcome.trace, rank, 1) for rank in range(len(outcome.trace.ranks))
    }
    senders = [rank for rank, own in numbers.items() if own]
    if not senders:
        return ()
    thoroughly = choice.choice(senders)
    own = numbers[thoroughly]
    most = 2 * (len(numbers) - 1)
    if len(own) > most:
        own = sorted(choice.sample(own, most))
    chosen = [(thoroughly, number) for number in own]
    chosen += [(rank, choice.choice(numbers[rank])) for rank in senders if rank != thoroughly]
    return tuple(MessageFault(rank, number, choice.random()) for rank, number in chosen)


def every_message_fault(
    outcome: Outcome, ranks: Iterable[int], *, min_num_bytes: int | None = None
) -> tuple[MessageFault, ...]:
    """Return one fault for each of these ranks that sends messages: it changes all of them.

    outcome: as of single_message_faults. min_num_bytes: of the messages that carry data, not only a
    number or a word. Where it is left out: half the length of a rank's longest message.
    """
    choice = _choice_from(outcome)
    altered = []
    for rank in ranks:
        sent = recorded_sends(outcome.trace, rank).column("num_bytes").tolist()
        least = max(sent, default=0) // 2 if min_num_bytes is None else min_num_bytes
        position = choice.random()
        if any(num_bytes >= max(least, 1) for num_bytes in sent):
            altered.append(MessageFault(rank, None, position, max(least, 1)))
    return tuple(altered)


def every_contribution_fault(outcome: Outcome, ranks: Iterable[int]) -> tuple[MessageFault, ...]:
    """Return a fault for each of these ranks that passes data to collectives: it changes all data.

    Only data at least half as long as its longest is changed: a length or a loss may be unused.
    What a rank only receives stays as it is. outcome: as for single_message_faults.
    """
    choice = _choice_from(outcome)
    faults = []
    for rank in ranks:
        given = contributions(outcome.trace, rank, min_num_bytes=1)
        position = choice.random()
        if given:
            least = max(max(call.num_bytes for call in given) // 2, 1)
            faults.append(MessageFault(rank, None, position, least, of_collectives=True))
    return tuple(faults)


def every_payload_fault(
    outcome: Outcome,
    ranks: Iterable[int],
    *,
    operations: Collection[str] = (),
    min_num_bytes: int | None = None,
) -> tuple[MessageFault, ...]:
    """Return one fault for each of these ranks: it changes all that gloo sends for its calls.

    Below torch.distributed, and only for its operations that the rank has recorded: data of other
    operations stays as it is, and so do lengths and the like. What is changed may be of any type,
    even whole numbers, so the fault may end the run.
    outcome: as of single_message_faults. operations: names of GLOO_OPERATIONS, for ranks whose
    calls are not in the trace. min_num_bytes: of what gloo sends at once, which is a piece of an
    array. Where it is left out: a quarter of what is sent of the longest call in n pieces.
    """
    choice = _choice_from(outcome)
    faults = []
    for rank in ranks:
        given = payload_calls(outcome.trace, rank)
        longest = max((call.num_bytes for call in given), default=0)
        least = longest // (4 * outcome.ranks) if min_num_bytes is None else min_num_bytes
        seen = sorted({gloo_operation(call.function) for call in given})
        altered = tuple(operations) or tuple(seen)
        position = choice.random()
        if altered:
            faults.append(MessageFault(rank, None, position, max(least, 1), operations=altered))
    return tuple(faults)


def in_drawn_order(outcome: Outcome, items: Sequence[Item]) -> list[Item]:
    """Return the items in an order that the inputs of the outcome decide.

    For example numbers of ranks: on which one messages are altered is then not known beforehand.
    """
    return _choice_from(outcome).sample(items, len(items))


def counted_sends(trace: Trace, rank: int, min_num_bytes: int) -> Calls:
    """Return the sends of a rank that are counted when one is looked for to be altered."""
    calls = trace.ranks[rank].calls
    return calls.where(_are_counted(calls, min_num_bytes))


def _are_counted(calls: Calls, min_num_bytes: int) -> Mask:
    return calls.flag("is_send") & (calls.column("num_bytes") >= max(min_num_bytes, 1))


def contributions(trace: Trace, rank: int, min_num_bytes: int) -> list[Call]:
    """Return the calls of collectives of which a rank's part can be altered."""
    calls = trace.ranks[rank].calls
    names = ALTERABLE_COLLECTIVES
    return [each for each in calls if each.function in names and each.num_bytes >= min_num_bytes]


def payload_calls(trace: Trace, rank: int) -> list[Call]:
    """Return the calls of torch.distributed by which a rank gives something to others."""
    calls = trace.ranks[rank].calls
    return [each for each in calls if gloo_operation(each.function) and each.num_bytes > 0]


def _numbers_of_sends(trace: Trace, rank: int, min_num_bytes: int) -> list[int]:
    """Return which of the counted sends go to other ranks."""
    is_counted = _are_counted(trace.ranks[rank].calls, min_num_bytes)
    return list(map(int, np.flatnonzero(are_sends(trace, rank)[is_counted])))


def _choice_from(outcome: Outcome) -> random.Random:
    digest = hashlib.sha256()
    for given in outcome.inputs:
        for name in sorted(given):
            value = given[name]
            digest.update(f"{name}\0".encode())
            is_array = isinstance(value, np.ndarray)
            digest.update(value.tobytes() if is_array else repr(value).encode())
    return random.Random(digest.digest())  # noqa: S311 - drawn from the secret by way of the inputs
