"""What a part demands of the way to its result, read off the calls that were made."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Literal

from grader.judge.check_failures import RuleViolation
from grader.judge.traffic.counting import assert_not_truncated, sends_anything
from grader.trace.call_formatting import at, listed, name_of, place_of
from grader.trace.calls import ANY_SOURCE, NO_PEER, PROC_NULL, Call, Calls, Mask, Trace
from grader.trace.functions import (
    ALL,
    BLOCKING_EXCHANGES,
    BLOCKING_POINT_TO_POINT,
    COMMUNICATORS_BY_CHOICE,
    COMPLETION,
    NEUTRAL,
    NONBLOCKING_POINT_TO_POINT,
    TORCH_BARRIERS,
)

_NONBLOCKING = NONBLOCKING_POINT_TO_POINT | COMPLETION | NEUTRAL
_POINT_TO_POINT = _NONBLOCKING | BLOCKING_POINT_TO_POINT
_EXCHANGES = BLOCKING_EXCHANGES | {"Isendrecv", "Isendrecv_replace"}
"""A send and a receive in one call, which are two records."""
_MAX_COMMUNICATORS = 16
_MAX_COMMUNICATORS_PER_MESSAGE = 2
"""More than all of these are not made to send anything over them."""


def assert_only_point_to_point(trace: Trace, *, may_be_silent: bool = False) -> None:
    """Assert that only point-to-point messages, blocking or not, carried data.

    may_be_silent: accept that no rank sends anything, as when there is nothing to send.
    Raises RuleViolation for a collective, one-sided, file or spawning call, or for silence;
    NotProven for a trace that is incomplete.
    """
    _assert_only(trace, _POINT_TO_POINT, "point-to-point calls only")
    _assert_evidence(trace, may_be_silent)


def assert_only_nonblocking(
    trace: Trace, *, may_be_silent: bool = False, also: Collection[str] = ()
) -> None:
    """Assert that messages were sent, received and probed by non-blocking calls; waits may block.

    also: other functions that this part allows.
    Raises RuleViolation, NotProven: as assert_only_point_to_point.
    """
    allowed = "only non-blocking point-to-point calls (Isend, Irecv, ...) and waits"
    _assert_only(trace, _NONBLOCKING.union(also), allowed)
    _assert_evidence(trace, may_be_silent)


def assert_buffers_not_pickles(
    trace: Trace, *, may_be_silent: bool = False, min_num_bytes: int = 0
) -> None:
    """Assert that no array was pickled: upper-case mpi4py calls send the array's own memory.

    min_num_bytes: smaller pickles are numbers and words, and may be sent.
    Raises RuleViolation, NotProven: as assert_only_point_to_point.
    """

    def are_pickled_arrays(calls: Calls) -> Mask:
        # Of some calls nobody knows how much they move.
        is_large = calls.column("num_bytes") >= min_num_bytes
        return calls.flag("pickled") & (is_large | (min_num_bytes == 0))

    first, number = _found(trace, are_pickled_arrays)
    for rank, call in first:
        raise RuleViolation.of(
            "rule.pickles",
            f"rank {rank} sent a pickled object with {name_of(call)}{at(call)}, as "
            f"lower-case calls do ({_such_calls(number)})",
            help="use upper-case calls (Isend, Irecv, Allreduce, ...), which send the array itself",
            **_facts(rank, call, number),
        )
    _assert_evidence(trace, may_be_silent)


def assert_requests_completed(
    trace: Trace, *, only: Literal["sends", "receives"] | None = None, may_be_silent: bool = False
) -> None:
    """Assert that every request made in the phase was completed or cancelled in it.

    If a request is freed before it is complete, no call tells when its array may be used.
    only: look at no others than these.
    Raises RuleViolation, NotProven: as assert_only_point_to_point.
    """
    kind = {None: "creates_request", "sends": "is_send", "receives": "is_receive"}[only]
    # Where calls are lost, nobody knows what became of their requests.
    ranks = (replace(seen, calls=Calls.of(())) if seen.truncated else seen for seen in trace.ranks)
    whole = replace(trace, ranks=tuple(ranks))
    first, number = _found(whole, lambda calls: _are_left(calls) & calls.flag(kind))
    for rank, call in first:
        how = "was never completed (no Wait or successful Test)"
        if call.request_freed:
            how = (
                "was incomplete when its request was freed, so the program cannot know when it "
                "may reuse the array"
            )
        noun = "request" if number == 1 else "requests"
        raise RuleViolation.of(
            "rule.request_not_completed",
            f"rank {rank}: the {name_of(call)}{_partner(call)}{at(call)} {how}; "
            f"{number} such {noun} in all",
            **_facts(rank, call, number),
        )
    _assert_evidence(trace, may_be_silent)


def assert_only_operations(
    trace: Trace, allowed: Collection[str], words: str, *, barriers: bool = True
) -> None:
    """Assert that only these functions moved data; waits are allowed.

    allowed: names as in a trace; words: the same for the student. barriers: tolerate those too.
    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    also = TORCH_BARRIERS | {"Barrier", "Ibarrier"} if barriers else frozenset[str]()
    _assert_only(trace, COMPLETION | NEUTRAL | also | frozenset(allowed), words or "no such call")
    assert_not_truncated(trace)


def assert_uses_operations(trace: Trace, required: Collection[str]) -> None:
    """Assert that every rank called each of these functions, unless there is only one rank.

    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    assert_not_truncated(trace)
    for rank, seen in enumerate(trace.ranks):
        called = seen.calls.where(seen.calls.column("error") == 0).functions()
        missing = [name for name in required if name not in called]
        if missing and len(trace.ranks) > 1:
            raise RuleViolation.of(
                "rule.operation_missing",
                f"this part requires {listed(missing)}, but rank {rank} did not call "
                f"{'it' if len(missing) == 1 else 'them'}; {_made(trace, rank)}",
                rank=rank,
                missing=missing,
            )


def _assert_only(trace: Trace, allowed: frozenset[str], allowed_text: str) -> None:
    refused = ALL - allowed
    first, number = _found(trace, lambda calls: _are_made(calls, refused))
    for rank, call in first:
        hint = ""
        if call.function in ("Mprobe", "Mrecv"):
            hint = " (inside the lower-case recv, which receives pickled objects)"
        more = f" ({_such_calls(number)})" if number > 1 else ""
        if call.function.islower():  # of torch.distributed, whose other names are like this
            allowed_text = allowed_text.replace("(Isend, Irecv, ...)", "(isend, irecv, ...)")
        raise RuleViolation.of(
            "rule.call_not_allowed",
            f"rank {rank} called {name_of(call)}{at(call)}{hint}{more}",
            help=f"this part allows {allowed_text}",
            **_facts(rank, call, number),
        )
    _assert_few_communicators(trace, allowed_text)


def _found(trace: Trace, are_meant: Callable[[Calls], Mask]) -> tuple[list[tuple[int, Call]], int]:
    """Return the first of the calls that are meant, with its rank, if any; and how many are."""
    found = [seen.calls.where(are_meant(seen.calls)) for seen in trace.ranks]
    first = [(rank, call) for rank, calls in enumerate(found) for call in calls[:1]]
    return first[:1], sum(map(len, found))


def _are_made(calls: Calls, functions: Collection[str]) -> Mask:
    """Return which calls are of these functions; of an exchange, which is two records, the send."""
    is_second = calls.flag("is_receive") & calls.function_is(_EXCHANGES.__contains__)
    return calls.function_is(functions.__contains__) & ~is_second


def _are_left(calls: Calls) -> Mask:
    """Return which calls made a request that nothing has completed."""
    is_complete = calls.flag("cancelled") | (calls.column("completed_ns") != 0)
    is_left: Mask = calls.flag("creates_request") & ~is_complete & (calls.column("error") == 0)
    return is_left


def _assert_few_communicators(trace: Trace, allowed_text: str) -> None:
    for rank, seen in enumerate(trace.ranks):
        calls = seen.calls
        made = calls.where(calls.function_is(COMMUNICATORS_BY_CHOICE.__contains__))
        num_messages = int((calls.flag("is_send") | calls.flag("is_receive")).sum())
        some = max(_MAX_COMMUNICATORS, _MAX_COMMUNICATORS_PER_MESSAGE * num_messages)
        if len(made) > some and len(trace.ranks) > 1:
            raise RuleViolation.of(
                "rule.many_communicators",
                f"rank {rank} created {len(made)} new communicators, the first with "
                f"{name_of(made[0])}{at(made[0])}, and sent or received {num_messages} "
                f"message{'s' * (num_messages != 1)}. Creating so many can itself pass data "
                f"between ranks; this part allows {allowed_text}",
                rank=rank,
                place=place_of(made[0]),
            )


def _assert_evidence(trace: Trace, may_be_silent: bool) -> None:
    """Raise unless the trace is complete and shows that the ranks worked together at all."""
    assert_not_truncated(trace)
    if len(trace.ranks) > 1 and not sends_anything(trace) and not may_be_silent:
        raise RuleViolation.of(
            "rule.no_messages",
            f"none of the {len(trace.ranks)} ranks sent a message, so no result can come from "
            "another rank",
            num_ranks=len(trace.ranks),
        )


def _partner(call: Call) -> str:
    if call.peer == NO_PEER or not (call.is_send or call.is_receive):
        return ""
    to = "to" if call.is_send else "from"
    known = {ANY_SOURCE: "any rank", PROC_NULL: "PROC_NULL"}
    return f" {to} {known.get(call.peer, f'rank {call.peer}')}"


def _made(trace: Trace, rank: int) -> str:
    made = dict.fromkeys(
        name_of(call) for call in trace.ranks[rank].calls if call.function not in NEUTRAL
    )
    called = f"called {listed(list(made)[:4])}" if made else "made no communication call"
    return f"rank {rank} {called}"


def _facts(rank: int, call: Call, number: int) -> dict[str, Any]:
    return {"rank": rank, "call": name_of(call), "place": place_of(call), "number": number}


def _such_calls(number: int) -> str:
    return "1 such call in all" if number == 1 else f"{number} such calls in all"
