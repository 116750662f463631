"""Collective calls that ranks make with another root, size, type or operation than others."""

from collections.abc import Callable
from itertools import islice

from grader.model.finding import Finding, found
from grader.model.plural import counted
from grader.trace.call_formatting import at, name_of, place_of, size_text
from grader.trace.calls import Call, Trace
from grader.trace.collectives import CollectiveMatches, Gathering
from grader.trace.functions import (
    COMMUNICATORS_OTHERWISE,
    PROCESSES,
    ROOTED_COLLECTIVES,
    blocking_form,
)
from grader.trace.layout import OPERATIONS

_REDUCTIONS = {"Allreduce", "Reduce", "Reduce_scatter_block", "Scan", "Exscan"}
_OF_EQUAL_SIZES = _REDUCTIONS | {"Bcast", "Gather", "Scatter", "Allgather", "Alltoall"}
"""In which a rank says for one rank how much it gives or gets, and all say the same."""
_OF_EQUAL_SIZES |= {"all_reduce", "broadcast", "reduce"}
_BETWEEN_GROUPS = {each for each in COMMUNICATORS_OTHERWISE if each.startswith("Inter")} | PROCESSES
"""What makes an intercommunicator, in which the groups may give different sizes."""
_MOST_LOOKED_AT = 10_000


def collective_difference(trace: Trace) -> Finding | None:
    """Return the first collective call that ranks make with another root, size, type or operation.

    None where there is none, and where the trace is incomplete. Which ranks make none at all, or
    another one, is told where they wait for each other.
    """
    if any(seen.truncated or not seen.attached for seen in trace.ranks):
        return None
    joins_groups = _BETWEEN_GROUPS.__contains__
    if any(seen.calls.where(seen.calls.function_is(joins_groups)) for seen in trace.ranks):
        return None
    gatherings = islice(CollectiveMatches(trace).all(), _MOST_LOOKED_AT)
    differing = [(each, told) for each in gatherings if (told := difference_in(each))]
    first = min(
        differing,
        key=lambda pair: min(call.entered_ns for call in pair[0].calls.values()),
        default=None,
    )
    return first[1] if first else None


def difference_in(gathering: Gathering) -> Finding | None:
    """Return how ranks that have come to one collective call differ in what they give to it."""
    calls = sorted(gathering.calls.items())
    functions = {call.function for _, call in calls}
    if len(functions) != 1 or gathering.num_unknown:
        return None
    function = blocking_form(*functions)
    made = [call for _, call in calls]
    told = None
    if function in ROOTED_COLLECTIVES and all(call.peer >= 0 for call in made):
        told = _differing(calls, "root", lambda call: call.peer, lambda call: f"root {call.peer}")
    if function not in _OF_EQUAL_SIZES or any(call.num_bytes < 0 for call in made):
        return told
    # As many elements, and yet more bytes: a datatype of the program's own may be several elements.
    has_one_count = made[0].num_elements > 0 and len({call.num_elements for call in made}) == 1
    if function in _REDUCTIONS and has_one_count:
        told = told or _differing(
            calls,
            "type",
            _item_num_bytes,
            lambda call: f"elements of {counted(_item_num_bytes(call), 'byte')}",
        )
    told = told or _differing(calls, "size", lambda call: call.num_bytes, size_text)
    if function in _REDUCTIONS and all(0 <= call.tag < len(OPERATIONS) for call in made):
        told = told or _differing(
            calls, "op", lambda call: call.tag, lambda call: f"op MPI.{OPERATIONS[call.tag]}"
        )
    return told


def _differing(
    calls: list[tuple[int, Call]],
    what: str,
    value: Callable[[Call], int],
    text: Callable[[Call], str],
) -> Finding | None:
    rank, call = calls[0]
    for other, others in calls[1:]:
        if value(others) != value(call):
            return found(
                f"collective.other_{what}",
                f"Rank {other} called {name_of(others)}{at(others)} with {text(others)}, but rank "
                f"{rank} called it{at(call)} with {text(call)}.",
                help=_HELP[what],
                call=name_of(call),
                ranks=(rank, other),
                places=tuple(dict.fromkeys(filter(None, (place_of(call), place_of(others))))),
            )
    return None


_HELP = {
    "root": "all ranks must pass the same root",
    "size": "all ranks must pass arrays of the same length and dtype",
    "op": "all ranks must pass the same operation",
    "type": "all ranks must pass arrays of the same dtype",
}


def _item_num_bytes(call: Call) -> int:
    return call.num_bytes // call.num_elements
