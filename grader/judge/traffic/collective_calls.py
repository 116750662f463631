"""The collective calls of a rank as its program makes them, with what the rank gives to each.

A lower-case call of mpi4py is several calls of MPI. It exchanges the lengths of pickles before the
pickles themselves; a reduction is made of messages and broadcasts on a communicator of its own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from grader.judge.traffic.counting import sends_of
from grader.trace.calls import Call, Calls, Mask, Trace
from grader.trace.functions import (
    BLOCKING_POINT_TO_POINT,
    COLLECTIVES,
    TORCH_BARRIERS,
    blocking_form,
)

_BARRIERS = TORCH_BARRIERS | {"Barrier"}
_STARTS = frozenset({"Start", "Startall"})
_AFTER_LENGTHS = {
    "Bcast": "Bcast",
    "Gather": "Gatherv",
    "Allgather": "Allgatherv",
    "Scatter": "Scatterv",
    "Alltoall": "Alltoallv",
}
"""What exchanges the lengths of pickles, and what then exchanges them."""
_REDUCTIONS = {"comm.allreduce": "Allreduce", "comm.reduce": "Reduce"}


@dataclass(frozen=True)
class CollectiveCall:
    """One collective call of a program."""

    function: str
    """The blocking form: `Allreduce` of Iallreduce, Allreduce_init and comm.allreduce as well; the
    operation of torch.distributed; `Start` where it is not known what was started."""
    call: Call
    """Where it was called, and how much the rank gave to it."""
    is_pickled: bool
    """It is a lower-case call: what the rank gave to it is a pickle."""


def collective_calls(trace: Trace, rank: int) -> list[CollectiveCall]:
    """Return the collective calls of a rank that carry data, in their order.

    There are neither barriers nor calls that failed among them, and of persistent ones each start.
    """
    calls = [call for call in trace.ranks[rank].calls if not call.error]
    own = [*_with_pickles(calls, _pickling_lines(trace)), *_reductions(calls)]
    return sorted(own, key=lambda each: each.call.sequence)


def messages_of(trace: Trace, rank: int) -> list[Call]:
    """Return the messages to other ranks, but parts of collectives. Raises NotProven."""
    return [call for call in sends_of(trace, rank) if call.made_by not in _REDUCTIONS]


def neighbourhood_call(trace: Trace, rank: int) -> Call | None:
    """Return a call by which a rank exchanged data with neighbours that no record names."""
    for each in collective_calls(trace, rank):
        if each.function.startswith("Neighbor_"):
            return each.call
    return None


def _with_pickles(
    calls: Collection[Call], pickling_lines: Collection[tuple[str, int]]
) -> Iterator[CollectiveCall]:
    """Yield all but reductions by messages, without the exchanges of lengths before pickles."""
    made: dict[tuple[int, ...], Call] = {}
    pickles = {
        after.sequence: before.sequence
        for before, after in pairwise(calls)
        if _are_length_and_pickle(before, after, pickling_lines)
    }
    lengths = set(pickles.values())
    for call in calls:
        if call.function.endswith("_init") and call.function in COLLECTIVES:
            made.setdefault(_gives(call), call)
        if call.made_by in _REDUCTIONS or call.sequence in lengths:
            continue
        function = _function(call, made)
        if not function or function in _BARRIERS:
            continue
        is_pickled = call.sequence in pickles
        if is_pickled:
            function = function.removesuffix("v")
            call = replace(call, made_by=f"comm.{function.lower()}")
        yield CollectiveCall(function, call, is_pickled)


def _function(call: Call, made: Mapping[tuple[int, ...], Call]) -> str:
    """Return the blocking form of a collective call; nothing of what is none, or only prepared."""
    if call.function in _STARTS and not (call.is_send or call.is_receive):
        started = made.get(_gives(call))
        return call.function if started is None else blocking_form(started.function)
    if call.function not in COLLECTIVES or call.function.endswith("_init"):
        return ""
    return blocking_form(call.function)


def _gives(call: Call) -> tuple[int, ...]:
    return call.communicator, call.peer, call.num_elements, call.num_bytes


def _pickling_lines(trace: Trace) -> set[tuple[str, int]]:
    """Return the lines in which any rank gives a pickle to a collective: of a Bcast the root."""
    return {
        (call.file, call.line)
        for seen in trace.ranks
        for call in seen.calls.where(seen.calls.flag("pickled"))
        if call.function in COLLECTIVES
    }


def _are_length_and_pickle(
    before: Call, after: Call, pickling_lines: Collection[tuple[str, int]]
) -> bool:
    """Return whether one instruction of Python made both, as mpi4py does for a lower-case call.

    A loop may broadcast a number and then an array by one instruction, too: so somebody has to have
    broadcast a pickle there.
    """
    return (
        _AFTER_LENGTHS.get(before.function) == after.function
        and before.num_elements == 1
        and before.communicator == after.communicator
        and (before.file, before.line, before.place) == (after.file, after.line, after.place)
        and (before.function != after.function or (after.file, after.line) in pickling_lines)
    )


def _reductions(calls: Collection[Call]) -> Iterator[CollectiveCall]:
    """Yield the lower-case reductions: of each the pickle that every rank has one of.

    That is the result that an allreduce hands out, and of a reduce what is exchanged with the rank
    that the first message was exchanged with. Lengths and pickles take turns.
    """
    for name, function in _REDUCTIONS.items():
        parts = [call for call in calls if call.made_by == name]
        if name == "comm.allreduce":
            parts = [call for call in parts if call.function == "Bcast"]
        elif parts:
            partner = (parts[0].peer, parts[0].is_send)
            parts = [call for call in parts if (call.peer, call.is_send) == partner]
        for pickle in parts[1::2]:
            yield CollectiveCall(function, pickle, is_pickled=True)


_PICKLING = {
    "Send": "send",
    "Ssend": "ssend",
    "Bsend": "bsend",
    "Isend": "isend",
    "Issend": "issend",
    "Ibsend": "ibsend",
    "Bcast": "bcast",
    "Gatherv": "gather",
    "Allgatherv": "allgather",
    "Scatterv": "scatter",
    "Alltoallv": "alltoall",
}
"""What lower-case calls make of themselves where they send a pickle, and their own names."""


def name_lower_case(trace: Trace) -> Trace:
    """Return the trace with `made_by` filled in wherever it can be told.

    What sends a pickle is lower-case. A lower-case reduction is made of messages and broadcasts on
    a communicator of mpi4py's own; it is an allreduce where a broadcast hands the result out.
    """
    own = [reduction_communicators(seen.calls) for seen in trace.ranks]
    if not any(own) and not any(seen.calls.flag("pickled").any() for seen in trace.ranks):
        return trace
    handing_out = {
        (call.file, call.line)
        for seen, communicators in zip(trace.ranks, own, strict=True)
        for call in seen.calls.where(
            _is_on(seen.calls, communicators) & seen.calls.function_is("Bcast".__eq__)
        )
    }
    ranks = tuple(
        replace(seen, calls=_named(seen.calls, communicators, handing_out))
        for seen, communicators in zip(trace.ranks, own, strict=True)
    )
    return replace(trace, ranks=ranks)


def _named(
    calls: Calls, own_communicators: Collection[int], handing_out: Collection[tuple[str, int]]
) -> Calls:
    is_pickled = calls.flag("pickled")
    names = {
        f"comm.{name}": is_pickled & calls.function_is(function.__eq__)
        for function, name in _PICKLING.items()
    }
    is_own = _is_on(calls, own_communicators)
    hands_out = calls.is_at(handing_out)
    return calls.made_by(names | {"comm.reduce": is_own, "comm.allreduce": is_own & hands_out})


def _is_on(calls: Calls, communicators: Collection[int]) -> Mask:
    return np.isin(calls.column("communicator"), [*communicators])


_USING = BLOCKING_POINT_TO_POINT | {"Bcast"}


def reduction_communicators(calls: Sequence[Call]) -> set[int]:
    """Return the communicators that mpi4py's lower-case reductions created on one rank.

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
    of = calls.column("communicator")
    return {each for each in made if _holds_reductions_only(calls.where(of == each))}


def _holds_reductions_only(calls: Sequence[Call]) -> bool:
    """Return whether all that is sent is pickled, the length of each pickle before it."""
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
