"""Faults in the messages that hold gradients: a training must follow these."""

from collections.abc import Callable
from dataclasses import replace

from grader.api import Call, MessageFault, Trace, functions

_ONLY_ROOT_GIVES = {"Bcast", "Ibcast"}
_MOST_CALLS = 200


def narrowed(
    trace: Trace, fault: MessageFault, holds_gradients: Callable[[Call], bool]
) -> MessageFault:
    """Return a fault of all messages for the longest row of those alone that hold gradients.

    The fault as it is where none does, or where there are too many messages. trace: of the same
    case without faults.
    """
    calls = trace.ranks[fault.rank].calls
    is_given = calls.column("peer") == fault.rank
    is_given |= ~calls.function_is(_ONLY_ROOT_GIVES.__contains__)
    collectives = calls.function_is(functions.ALTERABLE_COLLECTIVES.__contains__)
    is_counted = collectives if fault.of_collectives else calls.flag("is_send")
    is_counted &= is_given & (calls.column("num_bytes") >= fault.min_num_bytes)
    begin = longest = row = 0
    # Samples of more are too many to compare with all sums.
    counted = calls.where(is_counted) if is_counted.sum() <= _MOST_CALLS else ()
    for number, call in enumerate(counted):
        row = row + 1 if holds_gradients(call) else 0
        if row > longest:
            begin, longest = number + 1 - row, row
    return replace(fault, number=begin, num_messages=longest) if longest else fault
