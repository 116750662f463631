"""Faults in the messages that hold gradients: a training must follow these."""

from collections.abc import Callable
from dataclasses import replace

from grader.api import Call, MessageFault, Trace, functions


def narrowed(
    trace: Trace, fault: MessageFault, holds_gradients: Callable[[Call], bool]
) -> MessageFault:
    """Return a fault of all messages for the longest row of those alone that hold gradients.

    The fault as it is where none does. trace: of the same case without faults.
    """
    calls = trace.ranks[fault.rank].calls
    collectives = calls.function_is(functions.ALTERABLE_COLLECTIVES.__contains__)
    is_counted = collectives if fault.of_collectives else calls.flag("is_send")
    is_counted &= calls.column("num_bytes") >= fault.min_num_bytes
    begin = longest = row = 0
    for number, call in enumerate(calls.where(is_counted)):
        row = row + 1 if holds_gradients(call) else 0
        if row > longest:
            begin, longest = number + 1 - row, row
    return replace(fault, number=begin, num_messages=longest) if longest else fault
