"""Whether recv holds the reduction; if not, what it holds instead, and why that may be."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from grader.api import (
    ANY_SOURCE,
    Call,
    Outcome,
    RuleViolation,
    WrongAnswer,
    arrival_text,
    assert_every_rank,
    assert_unchanged,
    call_name,
    call_site,
    calls_by_rank,
    case_context,
    factor_text,
    functions,
    sum_text,
)

from .allreduce_cases import (
    GARBAGE,
    NUM_CALLS_IN_A_ROW,
    GroupReduction,
    Reduction,
    ReductionsInARow,
)
from .allreduce_numbers import SERIAL, Values

_OTHER_WAYS = functions.BY_OTHER_THAN_MESSAGES
_SUMS = frozenset(name for name, op in SERIAL.items() if op is np.add)


def assert_reduced(case: Reduction, outcome: Outcome) -> None:
    """Assert that recv holds the reduction on every rank.

    Raises WrongAnswer, with what recv holds instead where that can be told.
    """
    with case_context(case, outcome):
        if isinstance(case, ReductionsInARow):
            _assert_row_reduced(case, outcome)
        elif isinstance(case, GroupReduction):
            _assert_groups_reduced(case, outcome)
        else:
            _assert_recv_overwritten(case, outcome)
            _assert_equal(case, outcome, case.reduce_serially(outcome.inputs))


def assert_right(case: Reduction, outcome: Outcome) -> None:
    """Assert the same of a case of one call, without a word on why: to select cases for rules."""
    assert_every_rank(outcome["recv"], equals=case.reduce_serially(outcome.inputs))


def assert_reduced_by_messages(case: Reduction, outcome: Outcome) -> None:
    """Assert that recv holds the reduction, and that no collective brought it there.

    Raises WrongAnswer, RuleViolation.
    """
    assert_reduced(case, outcome)
    other_way = other_way_of(outcome)
    if other_way is not None:
        rank, call = other_way
        with case_context(case, outcome):
            raise RuleViolation(
                f"rank {rank} calls {call_name(call)}{call_site(call)}; this counts only where the "
                "result comes by messages from point to point (Isend, Irecv, ...)"
            )


def other_way_of(outcome: Outcome) -> tuple[int, Call] | None:
    """Return the first call, with its rank, that brings data to other ranks by no message."""
    if outcome.ranks == 1:
        return None
    return next(calls_by_rank(outcome.trace, functions=_OTHER_WAYS), None)


def assert_send_unchanged(case: Reduction, outcome: Outcome) -> None:
    """Assert that every rank's send is what it was. Raises WrongAnswer."""
    assert_unchanged(outcome["send"], [given["send"] for given in outcome.inputs])


def _assert_equal(case: Reduction, outcome: Outcome, expected: Values) -> None:
    try:
        assert_every_rank(outcome["recv"], equals=expected, name="recv")
    except WrongAnswer as error:
        if case.purpose != "values":
            raise
        wrong = _first_wrong(outcome["recv"], expected)
        causes = _causes(case, outcome, wrong, expected)
        raise WrongAnswer.at(
            "; ".join([str(error), *filter(None, causes)]),
            tuple(
                replace(each, made_of=_made_of(case, outcome, each.rank, expected))
                for each in error.differences
            ),
        ) from None


def _causes(case: Reduction, outcome: Outcome, rank: int, expected: Values) -> list[str]:
    """Return what can be said of one rank's wrong recv."""
    made_of = _made_of(case, outcome, rank, expected)
    if case.op not in _SUMS:
        return [made_of]
    sends = [given["send"] for given in outcome.inputs]
    got = outcome["recv"][rank]
    return [
        made_of,
        _tail_text(got, expected, outcome.ranks),
        _changed_send_text(outcome),
        arrival_text(outcome.trace, rank, uses_nothing=np.array_equal(got, sends[rank])),
    ]


def _made_of(case: Reduction, outcome: Outcome, rank: int, expected: Values) -> str:
    """Return whose numbers are in one rank's wrong recv, or nothing."""
    sends = [given["send"] for given in outcome.inputs]
    got = outcome["recv"][rank]
    if case.op not in _SUMS:
        return _other_op_text(got, sends, rank, case.op)
    return factor_text(got, expected, outcome.ranks) or sum_text(
        got, sends, own=rank, strangers=_old_recv(got)
    )


def _tail_text(got: Values, expected: Values, ranks: int) -> str:
    """Return that all is right but what is left over when the length is divided by n."""
    whole = got.size - got.size % ranks
    if whole and np.array_equal(got.reshape(-1)[:whole], expected.reshape(-1)[:whole]):
        left = got.size - whole
        last = "the last one was" if left == 1 else f"the last {left} were"
        return f"{got.size} elements are not divisible by {ranks}: {last} left out"
    return ""


def _other_op_text(got: Values, sends: Sequence[Values], rank: int, op: str) -> str:
    if np.array_equal(got, np.sum(sends, axis=0)):
        return f"it is the sum, but op is {op}: use op(x, y), not x + y"
    if np.array_equal(got, sends[rank]):
        return f"only rank {rank}'s own numbers are in it"
    with_zero = SERIAL[op](sends[0], np.zeros_like(sends[0]))
    for send in sends[1:]:
        with_zero = SERIAL[op](with_zero, send)
    if np.array_equal(got, with_zero):
        return f"a 0 was reduced into it, too: {op} has another first value than a sum, or none"
    return ""


def _changed_send_text(outcome: Outcome) -> str:
    for rank, given in enumerate(outcome.inputs):
        if not np.array_equal(outcome["send"][rank], given["send"]):
            return f"rank {rank}'s send was changed by the call, which may be why"
    return ""


def _old_recv(like: Values) -> Mapping[str, Values]:
    return {f"{GARBAGE}, which recv held before the call,": np.full_like(like, GARBAGE)}


def _assert_recv_overwritten(case: Reduction, outcome: Outcome) -> None:
    expected = case.reduce_serially(outcome.inputs)
    garbage = np.full_like(expected, GARBAGE)
    with np.errstate(all="ignore"):
        with_garbage = np.asarray(SERIAL[case.op](expected, garbage))
    for rank, recv in enumerate(outcome["recv"]):
        if recv.size and np.array_equal(recv, garbage) and not np.array_equal(expected, garbage):
            raise WrongAnswer(
                f"rank {rank}: recv still holds what it held before the call, {GARBAGE} "
                "everywhere; write the result into recv, as recv[...] = result does "
                "(recv = result only gives the name to another array)"
            )
        if np.array_equal(recv, with_garbage) and not np.array_equal(expected, with_garbage):
            raise WrongAnswer(
                f"rank {rank}: what recv held before the call, {GARBAGE} everywhere, was reduced "
                "into the result; overwrite recv first"
            )


def _assert_groups_reduced(case: GroupReduction, outcome: Outcome) -> None:
    sums = [
        case.reduce_serially([outcome.inputs[each] for each in case.members(rank, outcome.ranks)])
        for rank in range(outcome.ranks)
    ]
    everybody = case.reduce_serially(outcome.inputs)
    try:
        assert_every_rank(outcome["recv"], equals=sums, name="recv")
    except WrongAnswer as error:
        told = ""
        if any(np.array_equal(recv, everybody) for recv in outcome["recv"]):
            told = "; it is the result of all processes, also of those that are not on comm"
        raise WrongAnswer(
            f"{error}{told}; take rank, size and neighbours from comm, and send over comm, never "
            "over MPI.COMM_WORLD"
        ) from None


def _assert_row_reduced(case: ReductionsInARow, outcome: Outcome) -> None:
    for call in range(NUM_CALLS_IN_A_ROW):
        sends = [given["sends"][call] for given in outcome.inputs]
        recvs = [recvs[call] for recvs in outcome["recvs"]]
        expected = np.sum(sends, axis=0)
        try:
            assert_every_rank(recvs, equals=expected, name="recv")
        except WrongAnswer as error:
            rank = _first_wrong(recvs, expected)
            made_of = sum_text(
                recvs[rank], sends, own=rank, strangers=_neighbouring_calls(outcome, call)
            )
            told = [f"call {call + 1}: {error}", made_of, _wildcard_text(outcome)]
            raise WrongAnswer("; ".join(filter(None, told))) from None


def _neighbouring_calls(outcome: Outcome, call: int) -> Mapping[str, Values]:
    near = [each for each in (call + 1, call - 1) if 0 <= each < NUM_CALLS_IN_A_ROW]
    return {
        f"rank {rank}'s array of call {each + 1}": given["sends"][each]
        for each in near
        for rank, given in enumerate(outcome.inputs)
    }


def _wildcard_text(outcome: Outcome) -> str:
    for rank, call in calls_by_rank(outcome.trace):
        is_wild = call.peer == ANY_SOURCE and not call.is_send
        if is_wild and (call.is_receive or "robe" in call.function):
            return (
                f"rank {rank}'s {call_name(call)}{call_site(call)} takes a message from any "
                "source, also one of a later call; name the source, which gets each array once"
            )
    return ""


def _first_wrong(arrays: Sequence[Values], expected: Values) -> int:
    return next(rank for rank, array in enumerate(arrays) if not np.array_equal(array, expected))
