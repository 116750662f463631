"""Whether results come from the messages: a number is changed on its way, and do results change?

This is asked of the plainest sum where it is correct, on 3 or 4 ranks, which the seed decides. Else
it is asked of another case that is correct, else of the plainest sum that has an answer. Wrong
results are compared with what the same code makes of the same inputs without the change.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from grader.api import (
    FaultEffect,
    Finding,
    Launch,
    Outcome,
    RuleViolation,
    RunFailure,
    Trace,
    WrongAnswer,
    assert_envelopes_too_small,
    assert_message_depth,
    assert_one_neighbour,
    assert_only_point_to_point,
    assert_results_were_sent,
    assert_some_message_matters,
    bytes_sent,
    case_context,
    counted,
    found,
    in_drawn_order,
    inject_faults,
    messages_with_contents,
    not_run,
    sends_of,
    single_message_faults,
)

from .allreduce_cases import GroupReduction, Reduction, ReductionsInARow
from .allreduce_numbers import SERIAL
from .allreduce_reasons import receive_left
from .allreduce_values import assert_reduced, assert_right, other_way_of
from .reasons_first import call_facts, call_text, led_by

Run = Callable[..., Launch]
Cases = Mapping[int, Sequence[Reduction]]
Judged = tuple[Reduction, Outcome]

FEWEST_RANKS = 3
"""On two ranks nearly every rank is a neighbour, and results are correct by chance."""
_RANKS_OF_RINGS = (3, 4)
"""On which it is looked at how arrays of other lengths travel."""
_RANKS_FOR_FAULTS = (4, 3, 2)
"""All divide the length, so that no chunk is padded."""
_PLAIN: Mapping[str, Any] = {"subject": "plain"}
_PICKLE_NUM_BYTES = 512
_NUM_REPETITIONS = 3
_LONGER_CHUNK = 4 / 3
"""Of a chunk: on three ranks, half of an array is 3/2 of one."""


@dataclass(frozen=True)
class Proof:
    """What became of a case with one message altered on its way."""

    case: Reduction
    outcome: Outcome
    is_right: bool
    effects: Sequence[FaultEffect]

    @property
    def num_bytes(self) -> int:
        """Return the size of one rank's array."""
        return self.case.num_elements * self.case.item_num_bytes

    @property
    def summed(self) -> Sequence[Any]:
        """Return the ranks' arrays, where they are summed up."""
        is_sum = SERIAL[self.case.op] is np.add
        return [given["send"] for given in self.outcome.inputs] if is_sum else []


def assert_results_come_from_messages(run: Run, cases: Cases) -> None:
    """Assert that what the ranks send each other decides their results, correct or not.

    Raises NotProven for correct results that do not depend on it, RuleViolation where nothing is
    sent, or little beside a collective, WrongAnswer for wrong results that hardly depend on it.
    """
    proof = prove(run, cases)
    other_way, left = other_way_of(proof.outcome), receive_left(proof.outcome.trace)
    with case_context(proof.case, proof.outcome):
        if left is not None and not proof.is_right:
            raise WrongAnswer(left)
        if not any(bytes_sent(proof.outcome.trace)):
            assert_only_point_to_point(proof.outcome.trace)
        why_not = _why_messages_do_not_matter(proof)
        if other_way is not None and why_not:
            rank, call = other_way
            raise RuleViolation(
                found(
                    "messages.beside_a_collective",
                    f"Rank {rank} called {call_text(call)}, and the point-to-point "
                    "messages did not carry the result.",
                    **call_facts(rank, call),
                ),
                why_not,
            )
        if proof.is_right:
            assert_some_message_matters(proof.effects)
            n = proof.outcome.ranks
            assert_envelopes_too_small(proof.outcome.trace, (n - 1) / n * proof.num_bytes)
            if other_way is None:
                assert_results_were_sent(proof.outcome.trace, proof.summed)
    if why_not and not proof.is_right:
        try:
            assert_reduced(proof.case, proof.outcome)
        except WrongAnswer as error:
            raise led_by(error, why_not) from None


def assert_chunks_are_passed_on(run: Run, cases: Cases) -> None:
    """Assert that arrays travel in chunks, which the receiver passes on.

    This shows in the results of ranks that the altered message was not sent to.
    Raises RuleViolation for whole arrays, WrongAnswer.
    """
    proof = prove(run, cases)
    n, trace = proof.outcome.ranks, proof.outcome.trace
    chunk_num_bytes = ceil(proof.case.num_elements / n) * proof.case.item_num_bytes
    # A ring sends 2 (n - 1) chunks from each rank. Whole arrays once around, and the sums again,
    # are twice n of them from one rank, into however many messages they are cut.
    most_num_bytes = min(3 / 4 * (n - 1) * proof.num_bytes, (2 * n - 1) * chunk_num_bytes)
    most_of_one_sum = (
        _most_num_bytes_of_one_sum(proof.case, n) if proof.is_right else proof.num_bytes / 2
    )
    contents = list(_num_bytes_by_sum(proof.outcome, proof.summed))
    if n < FEWEST_RANKS:
        not_run("needs a result on 3 or more ranks")
    with case_context(proof.case, proof.outcome):
        for rank, sent in enumerate(bytes_sent(trace)):
            of_one_sum, untold = contents[rank]
            is_whole = max(_longest_num_bytes(trace, rank), of_one_sum) > most_of_one_sum
            if is_whole or untold > most_num_bytes:
                raise _whole_arrays_sent(proof.case, proof.outcome, rank, sent)
        if not any(effect.influenced - {_receiver(trace, effect)} for effect in proof.effects):
            text = (
                "No rank passed on the data it received: when we changed a message, no result "
                "changed except its receiver's."
            )
            helps = "in a ring, a rank sends the chunk that it received in the previous step"
            raise WrongAnswer.of("ring.not_passed_on", text, help=helps)


def assert_chunks_at_other_lengths(run: Run, cases: Cases, *, divisible: bool) -> None:
    """Assert that arrays of other lengths travel in chunks, too, on three and on four ranks.

    divisible: by the number of ranks, or not. Raises RuleViolation for whole arrays.
    """
    for ranks in _RANKS_OF_RINGS:
        ordinary = run(ranks, cases[ranks]).having(synchronous_sends=False)
        for asked, outcome in ordinary.holding(assert_reduced):
            case = asked.as_given(outcome)
            is_one_call = not isinstance(case, GroupReduction | ReductionsInARow)
            is_asked = case.num_elements > ranks and divisible is (case.num_elements % ranks == 0)
            if is_one_call and is_asked:
                with case_context(case, outcome):
                    _assert_chunks(case, outcome)


def _assert_chunks(case: Reduction, outcome: Outcome) -> None:
    # Two numbers of float32 in a sample are too few bits to tell sums apart.
    is_sum = (SERIAL.get(case.op), case.dtype) == (np.add, "float64") and not case.is_long
    arrays = [given["send"] for given in outcome.inputs] if is_sum else []
    most_num_bytes = _most_num_bytes_of_one_sum(case, outcome.ranks)
    for rank, (of_one_sum, _) in enumerate(_num_bytes_by_sum(outcome, arrays)):
        if max(_longest_num_bytes(outcome.trace, rank), of_one_sum) > most_num_bytes:
            raise _whole_arrays_sent(case, outcome, rank, bytes_sent(outcome.trace)[rank])


def _whole_arrays_sent(
    case: Reduction, outcome: Outcome, rank: int, sent_num_bytes: int
) -> RuleViolation:
    n, number = outcome.ranks, len(sends_of(outcome.trace, rank))
    num_elements = sent_num_bytes // case.item_num_bytes
    return RuleViolation.of(
        "ring.whole_arrays_sent",
        f"Rank {rank} sent more than one chunk at a time: {num_elements} elements "
        f"in {counted(number, 'message')}; a chunk has {ceil(case.num_elements / n)}.",
        help=f"cut the array into n = {n} chunks, and send one chunk in each step",
        rank=rank,
        num_elements=num_elements,
        num_messages=number,
    )


def _longest_num_bytes(trace: Trace, rank: int) -> int:
    """Return the length of a rank's longest message, without what pickling adds."""
    sends = sends_of(trace, rank)
    return max((call.num_bytes - _PICKLE_NUM_BYTES * call.pickled for call in sends), default=0)


def _most_num_bytes_of_one_sum(case: Reduction, ranks: int) -> float:
    """Return how much a rank may send of the sum over the same ranks, or in one message.

    A correct ring sends one chunk, the longest of which may hold the remainder, in numbers or in
    whole rows, and some padding.
    """
    row = case.row_num_elements
    chunk, remainder = divmod(case.num_elements // row, ranks)
    longest = _LONGER_CHUNK * row * (chunk + max(remainder, 1))
    return case.item_num_bytes * (longest if remainder else min(case.num_elements / 2, longest))


def assert_chunks_go_to_neighbours(run: Run, cases: Cases) -> None:
    """Assert that on four ranks none sends a chunk to the one that is no neighbour.

    Less may be a size or a token; what that breaks has its own price. Raises RuleViolation.
    """
    for case, outcome in run(4, cases[4]).having(**_PLAIN).holding(assert_right):
        across = [_num_bytes_across(outcome.trace, rank) for rank in range(outcome.ranks)]
        with case_context(case, outcome):
            if outcome.ranks * max(across) >= case.num_elements * case.item_num_bytes:
                assert_one_neighbour(outcome.trace)


def assert_ranks_send_together(run: Run, cases: Cases) -> None:
    """Assert that in the plainest sum, messages do not follow one another from rank to rank.

    Where all ranks send in each step, as many messages form a chain as a rank sends. There may be
    twice as many, but not as many as all ranks together send. Raises RuleViolation, or NotProven
    for a trace that is incomplete.
    """
    for ranks in (ranks for ranks in cases if ranks >= FEWEST_RANKS):
        for case, outcome in run(ranks, cases[ranks]).having(**_PLAIN).holding(assert_right):
            longest = max(len(sends_of(outcome.trace, rank)) for rank in range(ranks))
            with case_context(case, outcome):
                assert_message_depth(outcome.trace, 2 * longest)


def _num_bytes_across(trace: Trace, rank: int) -> int:
    """Return how much a rank sends to the one that is two steps away in a ring."""
    opposite = (rank + 2) % len(trace.ranks)
    return sum(call.num_bytes for call in sends_of(trace, rank) if call.peer == opposite)


def _num_bytes_by_sum(outcome: Outcome, arrays: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield for each rank how much it sends of one sum, at most, and of what nobody can tell.

    A ring sends the sum over the same few ranks for one chunk only. Sums over all ranks do not
    count: whoever makes too many steps sends them on and on.
    """
    for messages in messages_with_contents(outcome.trace, arrays):
        by_sum, untold = defaultdict[frozenset[int], int](int), 0
        for message in messages:
            call, sets = message.call, message.sets or ()
            num_bytes = call.num_bytes - _PICKLE_NUM_BYTES * call.pickled
            num_bytes = max(call.sampled_num_bytes, num_bytes)
            untold += 0 if sets else num_bytes
            for ranks in sets:
                by_sum[ranks] += num_bytes if len(ranks) < outcome.ranks else 0
        yield max(by_sum.values(), default=0), untold


def prove(run: Run, cases: Cases) -> Proof:
    """Run what shows most again and again, each time with one message altered on its way.

    Raises RunFailed: the plainest sum has no answer on any number of ranks.
    """
    case, outcome, is_right = most_telling(run, cases)
    faults = single_message_faults(outcome)
    if is_right:
        fresh = replace(case, subject="")
        effects = inject_faults(
            run, outcome.ranks, fresh, outcome, faults, assert_reduced, _wrong_ranks
        )
        return Proof(case, outcome, True, effects)
    watched = replace(
        case,
        probe="reduce_watched",
        subject="",
        given=tuple(given["send"].tobytes() for given in outcome.inputs),
    )
    altered = [replace(watched, message_fault=fault) for fault in faults]
    plain = [replace(watched, repetition=number + 1) for number in range(_NUM_REPETITIONS)]
    if not faults:
        return Proof(case, outcome, False, [])
    answers = list(run(outcome.ranks, (*plain, *altered)).answers())
    return Proof(case, outcome, False, _effects_on_wrong_results(answers, outcome.ranks))


def most_telling(run: Run, cases: Cases) -> tuple[Reduction, Outcome, bool]:
    """Return the case to alter messages of, its outcome, and whether that is correct.

    A correct one on three ranks or more if there is one: the plainest by messages, another by
    messages, the plainest by anything else.
    """
    wide = [n for n in _RANKS_FOR_FAULTS if n >= FEWEST_RANKS and plain_outcomes(run, cases, n)]
    if wide:
        wide = in_drawn_order(plain_outcomes(run, cases, wide[0])[0][1], wide)
    for among in _PLAIN, {"shows_traffic": True}:
        for ranks in wide:
            for case, outcome in run(ranks, cases[ranks]).having(**among).holding(assert_right):
                if other_way_of(outcome) is None and case.num_elements > ranks:
                    return case, outcome, True
    wrong: list[Judged] = []
    for ranks in _RANKS_FOR_FAULTS:
        judged = plain_outcomes(run, cases, ranks)
        if judged and plain_is_right(run, cases, ranks) and not (ranks == 2 and wrong):
            return *judged[0], True
        wrong += judged
    if wrong:
        return *wrong[0], False
    ranks = _RANKS_FOR_FAULTS[-1]
    ((case, outcome),) = run(ranks, cases[ranks]).having(**_PLAIN)
    return case, outcome, False


def plain_outcomes(run: Run, cases: Cases, ranks: int) -> list[Judged]:
    """Return the plainest sum on so many ranks with its outcome, if it has one."""
    answers = run(ranks, cases[ranks]).having(**_PLAIN).answers()
    return [(case, answer) for case, answer in answers if isinstance(answer, Outcome)]


def plain_is_right(run: Run, cases: Cases, ranks: int) -> bool:
    """Return whether the plainest sum is correct on so many ranks."""
    return bool(run(ranks, cases[ranks]).having(**_PLAIN).holding(assert_right))


def _wrong_ranks(case: Reduction, outcome: Outcome) -> list[int]:
    expected = case.reduce_serially(outcome.inputs)
    recvs = outcome["recv"]
    return [rank for rank, recv in enumerate(recvs) if not np.array_equal(recv, expected)]


def _effects_on_wrong_results(
    answers: Sequence[tuple[Any, Outcome | RunFailure]], ranks: int
) -> list[FaultEffect]:
    """Return what alterations changed in results that are wrong without, but always the same."""
    plain = [
        answer
        for case, answer in answers
        if case.message_fault is None and isinstance(answer, Outcome)
    ]
    steady = [
        rank
        for rank in range(ranks)
        if len({_result(outcome, rank) for outcome in plain}) == 1 and len(plain) > 1
    ]
    return [
        FaultEffect(
            case.message_fault,
            answer.num_altered > 0,
            frozenset(rank for rank in steady if _result(answer, rank) != _result(plain[0], rank)),
        )
        for case, answer in answers
        if case.message_fault is not None and isinstance(answer, Outcome)
    ]


def _result(outcome: Outcome, rank: int) -> tuple[bytes, bytes]:
    return outcome["recv"][rank].tobytes(), outcome["meant"][rank].tobytes()


def _why_messages_do_not_matter(proof: Proof) -> Finding | None:
    """Return why wrong results owe nothing to what the ranks send each other."""
    n = proof.outcome.ranks
    share, rank = min((sent, rank) for rank, sent in enumerate(bytes_sent(proof.outcome.trace)))
    if share * n < (n - 1) * proof.num_bytes:
        number, length = share // proof.case.item_num_bytes, proof.case.num_elements
        sent = f"Rank {rank} sent {number} of its {length} elements"
        text = f"{sent}; a correct result needs more."
        return found("messages.too_little_sent", text, num_elements=number)
    if not contribute(proof.outcome.trace, proof.summed):
        text = "The ranks sent neither pieces of their arrays nor partial sums of them."
        return found("messages.no_contribution", text)
    happened = [effect for effect in proof.effects if effect.happened]
    changing = [effect for effect in happened if effect.influenced]
    if not changing or 3 * len(changing) < len(happened):
        altered, changed = len(happened), len(changing)
        text = (
            f"The ranks hardly used the received data: we changed {altered} messages, each in its "
            f"own run, but {f'only {changed}' if changed else 'none'} of these affected a result."
        )
        return found("messages.hardly_used", text, altered=altered, changing=changed)
    return None


def contribute(trace: Trace, arrays: Sequence[Any]) -> bool:
    """Return whether all ranks that send, but one at most, send contributions to this sum.

    The whole sum is none: a collective may have brought it.
    """
    contents = [sent for sent in messages_with_contents(trace, arrays) if sent]
    gives = [
        any(
            message.sets is None or any(len(ranks) < len(arrays) for ranks in message.sets)
            for message in sent
        )
        for sent in contents
    ]
    return sum(gives) >= len(gives) - 1


def _receiver(trace: Trace, effect: FaultEffect) -> int:
    fault = effect.message
    calls = trace.ranks[fault.rank].calls
    sends = [call for call in calls if call.is_send and call.num_bytes >= fault.min_num_bytes]
    number = fault.number or 0
    return sends[number].peer if number < len(sends) else -1
