"""The collective calls of a rank as its program makes them, with what the rank gives to each.

A lower-case call of mpi4py is several calls of MPI. It exchanges the lengths of pickles before the
pickles themselves; a reduction is made of messages and broadcasts on a communicator of its own.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from grader.judge.traffic.counting import sends_of
from grader.trace.calls import Call, Trace
from grader.trace.functions import COLLECTIVES, TORCH_BARRIERS, blocking_form

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
    """Return the messages that `rank` sent to other ranks, but those that are part of a collective.

    Raises NotProven as sends_of.
    """
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
    """Return the blocking form of a collective call; nothing of what is none, or only prepared.

    made: the first persistent request of each kind that the rank has made until then.
    """
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
