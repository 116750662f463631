"""Names the lower-case calls of mpi4py that the calls of a trace were made by."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from grader.judge.traffic.reductions import reduction_communicators
from grader.trace.calls import Calls, Mask, Trace

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
