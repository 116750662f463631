"""Why a rank's recv is not the reduction: what it holds instead, and what the trace suggests."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from grader.api import (
    ANY_SOURCE,
    Finding,
    Outcome,
    Trace,
    arrival_text,
    calls_by_rank,
    factor_text,
    found,
    sum_text,
)

from .allreduce_cases import GARBAGE, Reduction
from .allreduce_numbers import SERIAL, Values
from .reasons_first import call_facts, call_text

_SUMS = frozenset(name for name, op in SERIAL.items() if op is np.add)


def reasons(case: Reduction, outcome: Outcome, rank: int, expected: Values) -> list[Finding]:
    """Return what can be said of one rank's wrong recv, the likeliest cause first."""
    _, held = contents(case, outcome, rank, expected) or ("", None)
    told: list[Finding | None] = [held]
    if case.op in _SUMS:
        got, own = outcome["recv"][rank], outcome.inputs[rank]["send"]
        tail, changed = _tail_left_out(got, expected, outcome.ranks), changed_send(outcome)
        if early := arrival_text(outcome.trace, rank):
            told = [tail, _read_early(early), held, changed]
        else:
            guess = arrival_text(outcome.trace, rank, uses_nothing=np.array_equal(got, own))
            told = [tail, held, changed, _read_early(guess)]
    text = f"Rank {rank}'s recv is not the result of {case.op} over all ranks' arrays."
    unknown = found("allreduce.other_result", text, rank=rank, op=case.op)
    left = send_left(outcome.trace)
    return [each for each in told if each is not None] or [left or unknown]


def contents(
    case: Reduction, outcome: Outcome, rank: int, expected: Values
) -> tuple[str, Finding] | None:
    """Return whose numbers are in one rank's wrong recv, in a clause, and as what was found."""
    sends = [given["send"] for given in outcome.inputs]
    got = outcome["recv"][rank]
    if case.op not in _SUMS:
        return _of_other_op(got, sends, rank, case.op)
    if made_of := factor_text(got, expected, len(sends)):
        return made_of, _of_factor(got, expected, rank, made_of)
    if made_of := sum_text(got, sends, own=rank, strangers=_old_recv(got)):
        return made_of, _of_sum(got, sends, rank, expected, made_of)
    return None


def old_recv_reduced(rank: int) -> Finding:
    """Return that what recv held before the call is in the result."""
    return found(
        "allreduce.old_recv_reduced",
        f"Rank {rank} reduced the old contents of recv ({GARBAGE} everywhere) into the result.",
        help="recv may contain anything before the call: overwrite it first",
        rank=rank,
    )


def changed_send(outcome: Outcome) -> Finding | None:
    """Return the first rank whose send is not what it was before the call."""
    for rank, given in enumerate(outcome.inputs):
        if not np.array_equal(outcome["send"][rank], given["send"]):
            text = f"The call overwrote rank {rank}'s send, which must not change."
            helps = "which of your arrays is a view of send?"
            return found("allreduce.send_overwritten", text, help=helps, rank=rank)
    return None


def any_source(outcome: Outcome) -> Finding | None:
    """Return the first receive that takes a message from any source."""
    for rank, call in calls_by_rank(outcome.trace):
        is_wild = call.peer == ANY_SOURCE and not call.is_send
        if is_wild and (call.is_receive or "robe" in call.function):
            return found(
                "calls.any_source",
                f"Rank {rank}'s {call_text(call)} accepts messages from any source, so "
                "it might take one that belongs to a later call.",
                help="name the source: messages from the same rank cannot overtake each other",
                **call_facts(rank, call),
            )
    return None


def receive_left(trace: Trace) -> Finding | None:
    """Return the first receive that its rank never waits for, where a message for it was sent.

    Whoever asks for the status of a request waits, which leaves the request as it is.
    """
    ranks = [seen.calls.where(seen.calls.column("error") == 0) for seen in trace.ranks]
    for rank, calls in enumerate(ranks):
        is_complete = calls.column("completed_ns") != 0
        is_left = calls.flag("creates_request") & ~is_complete & ~calls.flag("cancelled")
        left = calls.where(calls.flag("is_receive") & is_left)
        num_got = (calls.flag("is_receive") & is_complete).sum()
        to_it = [each.flag("is_send") & (each.column("peer") == rank) for each in ranks]
        asks = "Request_get_status" in calls.functions()
        if len(left) and not asks and num_got < sum(each.sum() for each in to_it):
            return found(
                "allreduce.receive_left",
                f"Rank {rank} never waited for its {call_text(left[0])}, so the "
                "code might have used the data before it arrived.",
                help="call Wait on each request, or Waitall on all of them",
                **call_facts(rank, left[0]),
            )
    return None


def send_left(trace: Trace) -> Finding | None:
    """Return the first send that its rank never waits for."""
    for rank, call in calls_by_rank(trace):
        is_left = call.creates_request and not (call.completed_ns or call.cancelled or call.error)
        asks = "Request_get_status" in trace.ranks[rank].calls.functions()
        if call.is_send and is_left and not asks:
            return found(
                "allreduce.send_left",
                f"Rank {rank} never waited for its {call_text(call)}, so its array might have "
                "changed, or been freed, before the data was sent.",
                help="keep each request, and wait for it before you change its array or return",
                **call_facts(rank, call),
            )
    return None


def smaller_datatype(case: Reduction, trace: Trace) -> Finding | None:
    """Return the first send of elements that are shorter than those of the array, but no bytes.

    A message that is too short for a chunk of the array is about something else.
    """
    least = max(case.num_elements // (2 * len(trace.ranks) or 1), 2)
    for rank, call in calls_by_rank(trace):
        num_bytes = call.num_bytes // call.num_elements if call.num_elements >= least else 1
        if call.is_send and 1 < num_bytes < case.item_num_bytes:
            return found(
                "allreduce.smaller_datatype",
                f"Rank {rank}'s {call_text(call)} sent {call.num_elements} elements of "
                f"{num_bytes} bytes, but {case.dtype} elements have {case.item_num_bytes}: "
                "part of the array might not have been sent.",
                help="pass the array alone, or with the MPI datatype that matches its dtype",
                **call_facts(rank, call),
            )
    return None


def _of_factor(got: Values, expected: Values, rank: int, made_of: str) -> Finding:
    largest = int(np.abs(expected).argmax())
    factor = got.flat[largest].item() / expected.flat[largest].item()
    text = f"Rank {rank}'s recv is wrong: {made_of}."
    if abs(factor) < 1:
        helps = "do not divide: the sum is required"
        return found("allreduce.mean", text, help=helps, rank=rank)
    return found("allreduce.multiple_of_sum", text, rank=rank, factor=factor)


def _of_sum(
    got: Values, sends: Sequence[Values], rank: int, expected: Values, made_of: str
) -> Finding:
    first = int(np.flatnonzero(got != expected)[0])
    held, terms = got.flat[first].item(), [send.flat[first].item() for send in sends]
    some = _sums_of_some(terms)
    text = f"Rank {rank}'s recv is wrong: {made_of}."
    if held == terms[rank]:
        return _only_own(rank)
    if held in expected:
        helps = "compare the index of each number in send with its index in recv"
        to = np.flatnonzero(expected == held)[0]
        return found("allreduce.chunk_elsewhere", text, help=helps, rank=rank, belongs_to=to)
    if held in some:
        helps = f"follow a missing contribution: in which step should it reach rank {rank}?"
        missing = set(range(len(terms))) - some[held]
        return found("allreduce.numbers_missing", text, help=helps, rank=rank, missing=missing)
    if held - GARBAGE in some:
        return old_recv_reduced(rank)
    for other, term in enumerate(terms):
        if held - term in some or held - 2 * term in some:
            helps = f"follow rank {other}'s contribution: in which steps is it added?"
            return found("allreduce.counted_twice", text, help=helps, rank=rank, counted=other)
    return found("allreduce.other_numbers", text, rank=rank)


def _sums_of_some(terms: Sequence[float]) -> dict[float, frozenset[int]]:
    """Return each sum of some ranks' terms, with these ranks."""
    sums = {type(terms[0])(0): frozenset[int]()}
    for rank, term in enumerate(terms):
        sums |= {each + term: ranks | {rank} for each, ranks in sums.items()}
    return sums


def _only_own(rank: int) -> Finding:
    first = f"its first wrong element is only rank {rank}'s own contribution."
    text = f"Rank {rank}'s recv is wrong: {first}"
    helps = "which line writes the received data into recv?"
    return found("allreduce.only_own_numbers", text, help=helps, rank=rank)


def _of_other_op(
    got: Values, sends: Sequence[Values], rank: int, op: str
) -> tuple[str, Finding] | None:
    if np.array_equal(got, np.sum(sends, axis=0)):
        text = f"Rank {rank}'s recv contains the sum, but op is {op}."
        helps = "where does the code add instead of calling op?"
        return "it is the sum", found("op.sum_instead", text, help=helps, rank=rank, op=op)
    if np.array_equal(got, sends[rank]):
        return f"it contains only rank {rank}'s own contribution", _only_own(rank)
    with_zero = SERIAL[op](sends[0], np.zeros_like(sends[0]))
    for send in sends[1:]:
        with_zero = SERIAL[op](with_zero, send)
    if np.array_equal(got, with_zero):
        text = f"Rank {rank} also reduced a 0 into recv, but a 0 changes the result of {op}."
        helps = "what does your result array contain before the first call of op?"
        reason = found("op.zero_reduced", text, help=helps, rank=rank, op=op)
        return "a 0 was reduced into it", reason
    return None


def _tail_left_out(got: Values, expected: Values, ranks: int) -> Finding | None:
    """Return that all is correct but what is left over when the length is divided by n."""
    length, left = got.size, got.size % ranks
    whole = length - left
    if not whole or not np.array_equal(got.reshape(-1)[:whole], expected.reshape(-1)[:whole]):
        return None
    last = f"last of {length} elements was" if left == 1 else f"last {left} of {length} were"
    return found(
        "ring.tail_left_out",
        f"The {last} left out: {length} elements do not divide evenly among {ranks} ranks.",
        help="which rank adds the remaining elements?",
        length=length,
        ranks=ranks,
        left_out=left,
    )


def _read_early(told: str) -> Finding | None:
    if not told:
        return None
    text = f"{told[0].upper()}{told[1:].rstrip('.')}."
    return found("allreduce.read_before_wait", text, places=re.findall(r"\S+\.py:\d+", told))


def _old_recv(like: Values) -> Mapping[str, Values]:
    return {f"{GARBAGE}, which recv held before the call,": np.full_like(like, GARBAGE)}
