"""Tells messages that mpi4py sends within lower-case reductions from messages by hand."""

from collections.abc import Sequence

import numpy as np

from grader.trace.calls import Call, Calls
from grader.trace.functions import BLOCKING_POINT_TO_POINT, COLLECTIVES

_USING = BLOCKING_POINT_TO_POINT | {"Bcast"}


def reduction_communicators(calls: Sequence[Call]) -> set[int]:
    """Return the communicators that lower-case reductions of one rank made for themselves.

    The first one duplicates the communicator and uses the copy at once: one instruction of Python
    makes both calls. A program can also get at such a copy; then it is no longer mpi4py's own.
    """
    calls = Calls.of(calls)
    before, after = calls[:-1], calls[1:]
    is_used_at_once = before.function_is("Comm_dup".__eq__) & after.function_is(_USING.__contains__)
    for name in ("line", "place"):
        is_used_at_once &= before.column(name) == after.column(name)
    copying = np.flatnonzero(is_used_at_once).tolist()
    made = {
        after.communicator
        for before, after in ((calls[index], calls[index + 1]) for index in copying)
        if _have_one_place(before, after)
    }
    held: dict[int, list[Call]] = {communicator: [] for communicator in made}
    for call in calls.where(np.isin(calls.column("communicator"), [*made])):
        held[call.communicator].append(call)
    return {communicator for communicator in made if _holds_reductions_only(held[communicator])}


def _holds_reductions_only(calls: Sequence[Call]) -> bool:
    """Return whether all that is sent is pickled, the length of each pickle before it.

    A rank may still be sending the last length.
    """
    sends = [call for call in calls if call.is_send]
    if len(sends) % 2 and not sends[-1].left_ns and _is_length(sends[-1]):
        sends = sends[:-1]
    lengths, pickles = sends[::2], sends[1::2]
    return (
        len(lengths) == len(pickles)
        and all(map(_are_one_object, lengths, pickles))
        and all(call.function == "Bcast" for call in calls if call.function in COLLECTIVES)
    )


def _are_one_object(length: Call, pickle: Call) -> bool:
    return (
        length.function == pickle.function
        and pickle.function in BLOCKING_POINT_TO_POINT
        and _is_length(length)
        and pickle.pickled
        and (length.peer, length.tag) == (pickle.peer, pickle.tag)
        and _have_one_place(length, pickle)
    )


def _is_length(call: Call) -> bool:
    return (call.num_elements, call.pickled) == (1, False)


def _have_one_place(one: Call, other: Call) -> bool:
    return (one.file, one.line, one.place) == (other.file, other.line, other.place)
