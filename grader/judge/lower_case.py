"""Names the lower-case calls of mpi4py that the calls of a trace were made by."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from grader.judge.reductions import reduction_communicators
from grader.trace.calls import Calls, Trace

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
        for call in _of_communicators(seen.calls, communicators)
        if call.function == "Bcast"
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
    own = _of_communicators(calls, own_communicators)
    is_own = np.isin(calls.column("communicator"), [*own_communicators])
    is_handed_out = is_own.copy()
    is_handed_out[is_own] = [(call.file, call.line) in handing_out for call in own]
    return calls.made_by(names | {"comm.reduce": is_own, "comm.allreduce": is_handed_out})


def _of_communicators(calls: Calls, communicators: Collection[int]) -> Calls:
    return calls.where(np.isin(calls.column("communicator"), [*communicators]))
