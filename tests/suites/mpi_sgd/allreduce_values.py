"""Whether recv holds the reduction; if not, what it holds instead, and why that may be."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from grader.api import (
    Call,
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_every_rank,
    assert_unchanged,
    calls_by_rank,
    case_context,
    found,
    functions,
    sum_text,
)

from .allreduce_cases import (
    GARBAGE,
    DrawnReduction,
    GroupReduction,
    Reduction,
    ReductionsInARow,
)
from .allreduce_numbers import SERIAL, Values
from .allreduce_reasons import (
    any_source,
    changed_send,
    contents,
    old_recv_reduced,
    reasons,
    receive_left,
    smaller_datatype,
)
from .reasons_first import call_facts, call_text, led_by

_OTHER_WAYS = functions.BY_OTHER_THAN_MESSAGES
_USE_COMM = "take rank, size, and neighbours from comm, and send over comm, not MPI.COMM_WORLD"


def assert_reduced(case: Reduction, outcome: Outcome) -> None:
    """Assert that recv holds the reduction on every rank.

    Raises WrongAnswer, with what recv holds instead where that can be told.
    """
    with case_context(case, outcome):
        try:
            if isinstance(case, ReductionsInARow):
                _assert_row_reduced(case, outcome)
            elif isinstance(case, GroupReduction):
                _assert_groups_reduced(case, outcome)
            elif isinstance(case, DrawnReduction):
                expected = case.reduce_serially(outcome.inputs)
                assert_every_rank(outcome["recv"], equals=expected, name="recv")
            else:
                _assert_recv_overwritten(case, outcome)
                _assert_equal(case, outcome, case.reduce_serially(outcome.inputs))
        except WrongAnswer as error:
            raise led_by(error, smaller_datatype(case, outcome.trace)) from None


def assert_right(case: Reduction, outcome: Outcome) -> None:
    """Assert the same of a case of one call, without saying why: to select cases for rules.

    Numbers of a receive that is never waited for are right by luck, so they are not.
    """
    if left := receive_left(outcome.trace):
        raise WrongAnswer(left)
    assert_every_rank(outcome["recv"], equals=case.reduce_serially(outcome.inputs))


def assert_reduced_by_messages(case: Reduction, outcome: Outcome) -> None:
    """Assert that recv holds the reduction, and that messages brought it there, received in time.

    Raises WrongAnswer, RuleViolation.
    """
    if left := receive_left(outcome.trace):
        with case_context(case, outcome):
            raise WrongAnswer(left)
    assert_reduced_by_no_collective(case, outcome)


def assert_reduced_by_no_collective(case: Reduction, outcome: Outcome) -> None:
    """Assert that recv holds the reduction, and that no collective brought it there.

    For long arrays, of which not all messages may be recorded. Raises WrongAnswer, RuleViolation.
    """
    assert_reduced(case, outcome)
    other_way = other_way_of(outcome)
    if other_way is not None:
        rank, call = other_way
        with case_context(case, outcome):
            raise RuleViolation.of(
                "allreduce.result_by_collective",
                f"Rank {rank} called {call_text(call)}. In this part, the result must come "
                "from point-to-point messages (Isend, Irecv, ...).",
                **call_facts(rank, call),
            )


def other_way_of(outcome: Outcome) -> tuple[int, Call] | None:
    """Return the first call, with its rank, that brings data to other ranks by no message."""
    if outcome.ranks == 1:
        return None
    return next(calls_by_rank(outcome.trace, functions=_OTHER_WAYS), None)


def assert_send_unchanged(case: Reduction, outcome: Outcome) -> None:
    """Assert that every rank's send is what it was. Raises WrongAnswer."""
    try:
        assert_unchanged(outcome["send"], [given["send"] for given in outcome.inputs])
    except WrongAnswer as error:
        raise led_by(error, changed_send(outcome)) from None


def _assert_equal(case: Reduction, outcome: Outcome, expected: Values) -> None:
    try:
        assert_every_rank(outcome["recv"], equals=expected, name="recv")
    except WrongAnswer as error:
        if case.purpose != "values":
            raise
        wrong = _first_wrong(outcome["recv"], expected)
        told = led_by(error, *reasons(case, outcome, wrong, expected))
        told.differences = tuple(
            replace(each, made_of=_made_of(case, outcome, each.rank, expected))
            for each in error.differences
        )
        raise told from None


def _made_of(case: Reduction, outcome: Outcome, rank: int, expected: Values) -> str:
    held = contents(case, outcome, rank, expected)
    return held[0] if held else ""


def _assert_recv_overwritten(case: Reduction, outcome: Outcome) -> None:
    expected = case.reduce_serially(outcome.inputs)
    garbage = np.full_like(expected, GARBAGE)
    with np.errstate(all="ignore"):
        with_garbage = np.asarray(SERIAL[case.op](expected, garbage))
    for rank, recv in enumerate(outcome["recv"]):
        if recv.size and np.array_equal(recv, garbage) and not np.array_equal(expected, garbage):
            before = f"{GARBAGE} everywhere, as before the call"
            text = f"Rank {rank} wrote nothing into recv: it still contains {before}."
            helps = "on one rank, copy send into recv"
            if outcome.ranks > 1:
                helps = "recv[...] = result writes into recv; recv = result only rebinds the name"
            raise WrongAnswer.of("allreduce.recv_untouched", text, help=helps, rank=rank)
        if np.array_equal(recv, with_garbage) and not np.array_equal(expected, with_garbage):
            raise WrongAnswer(old_recv_reduced(rank))


def _assert_groups_reduced(case: GroupReduction, outcome: Outcome) -> None:
    sums = [
        case.reduce_serially([outcome.inputs[each] for each in case.members(rank, outcome.ranks)])
        for rank in range(outcome.ranks)
    ]
    everybody = case.reduce_serially(outcome.inputs)
    try:
        assert_every_rank(outcome["recv"], equals=sums, name="recv")
    except WrongAnswer as error:
        text = "The result is wrong when comm contains only some of the ranks, in another order."
        reason = found("comm.wrong_on_some_ranks", text, help=_USE_COMM)
        over_all = [r for r, recv in enumerate(outcome["recv"]) if np.array_equal(recv, everybody)]
        if over_all:
            rank = over_all[0]
            text = f"Rank {rank}'s recv contains the result over all ranks, even those not in comm."
            reason = found("comm.reduced_over_all", text, help=_USE_COMM, rank=rank)
        raise led_by(error, reason) from None


def _assert_row_reduced(case: ReductionsInARow, outcome: Outcome) -> None:
    for number in range(case.num_calls):
        sends = [given["sends"][number] for given in outcome.inputs]
        recvs = [recvs[number] for recvs in outcome["recvs"]]
        expected, label = np.sum(sends, axis=0), f"call {number + 1}"
        try:
            assert_every_rank(recvs, equals=expected, name="recv", label=label)
        except WrongAnswer as error:
            rank = _first_wrong(recvs, expected)
            strangers = _neighbouring_calls(outcome, number)
            made_of = sum_text(recvs[rank], sends, own=rank, strangers=strangers)
            text = f"Rank {rank}'s recv is wrong in {label} of {case.num_calls}"
            text += f": {made_of}." if made_of else "."
            wrong = found("calls.wrong_in_a_row", text, rank=rank, number=number + 1)
            raise led_by(error, any_source(outcome), wrong) from None


def _neighbouring_calls(outcome: Outcome, call: int) -> Mapping[str, Values]:
    near = [each for each in (call + 1, call - 1) if 0 <= each < len(outcome["recvs"][0])]
    return {
        f"rank {rank}'s array of call {each + 1}": given["sends"][each]
        for each in near
        for rank, given in enumerate(outcome.inputs)
    }


def _first_wrong(arrays: Sequence[Values], expected: Values) -> int:
    return next(rank for rank, array in enumerate(arrays) if not np.array_equal(array, expected))
