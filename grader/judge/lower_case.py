"""Names the lower-case calls of mpi4py that the calls of a trace were made by."""

from collections.abc import Collection
from dataclasses import replace

from grader.judge.reductions import reduction_communicators
from grader.trace.calls import Call, Trace

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
    if not any(own) and not any(call.pickled for seen in trace.ranks for call in seen.calls):
        return trace
    handing_out = {
        (call.file, call.line)
        for seen, communicators in zip(trace.ranks, own, strict=True)
        for call in seen.calls
        if call.function == "Bcast" and call.communicator in communicators
    }
    ranks = tuple(
        replace(seen, calls=tuple(_named(call, communicators, handing_out) for call in seen.calls))
        for seen, communicators in zip(trace.ranks, own, strict=True)
    )
    return replace(trace, ranks=ranks)


def _named(
    call: Call, own_communicators: Collection[int], handing_out: Collection[tuple[str, int]]
) -> Call:
    if call.communicator in own_communicators:
        name = "allreduce" if (call.file, call.line) in handing_out else "reduce"
        return replace(call, made_by=f"comm.{name}")
    if call.pickled and call.function in _PICKLING:
        return replace(call, made_by=f"comm.{_PICKLING[call.function]}")
    return call
