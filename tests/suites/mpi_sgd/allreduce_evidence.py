"""By which outcomes abilities and rules of an all-reduce are judged; what its messages prove.

One mistake costs the tests about it. An ability (a length, a dtype, ...) is judged on the numbers
of ranks on which the plainest sum is right, and a rule by all outcomes that are right. Where none
of three or more ranks is, a rule is still judged by the plainest outcome that there is, as long as
its messages matter: a number is changed on its way, and answers change.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.api import (
    Call,
    FaultEffect,
    Launch,
    Outcome,
    RuleViolation,
    RunFailed,
    RunFailure,
    Trace,
    WrongAnswer,
    assert_only_point_to_point,
    assert_some_message_matters,
    bytes_sent,
    case_context,
    inject_faults,
    listed,
    not_run,
    single_message_faults,
)

from .allreduce_cases import SEVERAL_RANKS, Reduction
from .allreduce_values import assert_reduced, assert_reduced_by_messages, assert_right

Run = Callable[..., Launch]
Cases = Mapping[int, Sequence[Reduction]]
Judged = tuple[Reduction, Outcome]
Check = Callable[[Reduction, Outcome], object]

FEWEST_RANKS = 3
"""On two ranks nearly everything is a neighbour, and right by chance."""
WRONG_DTYPE = (
    "; with float64 the same is right: has a buffer another dtype than send? np.empty_like(send) "
    "makes one of the same"
)
_RANKS_FOR_FAULTS = (4, 3, 2)
"""The first of them with an answer is taken: all divide the length, so that no chunk is padded."""
_PICKLE_NUM_BYTES = 512
_NUM_REPETITIONS = 3


@dataclass(frozen=True)
class Proof:
    """The plainest sum, and what became of it with one message altered on its way."""

    case: Reduction
    outcome: Outcome
    is_right: bool
    effects: Sequence[FaultEffect]

    @property
    def num_bytes(self) -> int:
        """Return the size of one rank's array."""
        return self.case.num_elements * self.case.item_num_bytes


def assert_ability(
    run: Run,
    cases: Cases,
    subject: str,
    check: Check = assert_reduced_by_messages,
    *,
    though_wrong: bool = False,
    hint: str = "",
) -> None:
    """Assert that the cases of a subject hold on all numbers of ranks on which the plainest one is.

    That has to be most of those that the subject asks for, and one of three ranks or more.
    though_wrong: where it is not so, judge those on which the plainest case has an answer.
    hint: what a failure suggests, since the plainest case is right.
    """
    asked = [ranks for ranks in cases if any(case.subject == subject for case in cases[ranks])]
    able = [ranks for ranks in asked if ranks == 1 or _plain_is_right(run, cases, ranks)]
    if not _are_most(able, asked) and though_wrong:
        able = [ranks for ranks in asked if ranks == 1 or _plain_outcomes(run, cases, ranks)]
    if not _are_most(able, asked):
        numbers = listed(str(ranks) for ranks in asked if ranks not in able)
        not_run(f"on {numbers} processes even the plainest sum fails")
    for ranks in able:
        try:
            for case, outcome in run(ranks, cases[ranks]).having(subject=subject):
                check(case, outcome)
        except WrongAnswer as error:
            raise WrongAnswer(f"{error}{hint}") from None
        except RunFailed as error:
            message = f"{error.failure.message}{hint}"
            raise RunFailed(replace(error.failure, message=message)) from None


def assert_rule(
    run: Run,
    cases: Cases,
    rule: Check,
    *,
    though_wrong: bool = True,
    fewest_ranks: int = 2,
    unless_wrong: Callable[[Run, Cases], object] | None = None,
) -> None:
    """Assert a rule on the traffic of all right outcomes, of which one has three or more ranks.

    Without such a one the plainest outcome is judged. though_wrong: False where not even then.
    fewest_ranks: it has to have. unless_wrong: what has to hold then, too.
    """
    judged = right_outcomes(run, cases)
    if not any(_plain_is_right(run, cases, ranks) for ranks in cases if ranks >= FEWEST_RANKS):
        case, outcome, _ = _evidence(run, cases)
        if not though_wrong or outcome.ranks < fewest_ranks:
            not_run("no result is right on three processes or more")
        judged = [(case, outcome)]
        if unless_wrong is not None:
            try:
                unless_wrong(run, cases)
            except (WrongAnswer, RuleViolation):
                not_run("no result is right on three processes or more, nor nearly so")
    for case, outcome in judged:
        with case_context(case, outcome):
            rule(case, outcome)


def right_outcomes(run: Run, cases: Cases) -> list[Judged]:
    """Return the cases that show traffic and whose answers are right, by number of ranks."""
    return [
        judged
        for ranks in SEVERAL_RANKS
        for judged in run(ranks, cases[ranks]).having(shows_traffic=True).holding(assert_right)
    ]


def assert_results_come_from_messages(run: Run, cases: Cases) -> None:
    """Assert that what the ranks send each other decides their results, be these right or not.

    Raises NotProven for right results that do not depend on it, RuleViolation where nothing is
    sent, WrongAnswer for wrong results for which too little is sent or used.
    """
    proof = prove(run, cases)
    with case_context(proof.case, proof.outcome):
        if not any(bytes_sent(proof.outcome.trace)):
            assert_only_point_to_point(proof.outcome.trace)
        if proof.is_right:
            assert_some_message_matters(proof.effects)
    why_not = "" if proof.is_right else _why_messages_do_not_matter(proof)
    if why_not:
        try:
            assert_reduced(proof.case, proof.outcome)
        except WrongAnswer as error:
            raise WrongAnswer(f"{error}; {why_not}") from None


def assert_chunks_are_passed_on(run: Run, cases: Cases) -> None:
    """Assert that arrays travel in chunks, which go on from the one who got them.

    That a chunk goes on shows in the results of ranks that the altered message was not sent to.
    Raises RuleViolation for whole arrays, WrongAnswer.
    """
    proof = prove(run, cases)
    n, trace = proof.outcome.ranks, proof.outcome.trace
    if n < FEWEST_RANKS:
        not_run("no result was there on three processes or more")
    with case_context(proof.case, proof.outcome):
        for rank, sent in enumerate(bytes_sent(trace)):
            pickles = sum(call.pickled for call in trace.ranks[rank].calls) * _PICKLE_NUM_BYTES
            if sent - pickles > 3 / 4 * (n - 1) * proof.num_bytes:
                raise RuleViolation(
                    f"rank {rank} sends {sent // proof.case.item_num_bytes} elements of an array "
                    f"of {proof.case.num_elements}: whole arrays; cut the array into n = {n} "
                    "chunks, and send one chunk in each step"
                )
        if not any(effect.influenced - {_receiver(trace, effect)} for effect in proof.effects):
            raise WrongAnswer(
                "what a process receives it does not pass on: messages were altered on their way, "
                "and no result changed but that of the receiver; in a ring each process passes "
                "on in one step what it received in the step before"
            )


def prove(run: Run, cases: Cases) -> Proof:
    """Run the plainest sum again and again, each time with one message altered on its way.

    Raises RunFailed: it has no answer on any number of ranks.
    """
    case, outcome, is_right = _evidence(run, cases)
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
    altered = [replace(watched, altered_message=fault) for fault in faults]
    plain = [replace(watched, repetition=number + 1) for number in range(_NUM_REPETITIONS)]
    if not faults:
        return Proof(case, outcome, False, [])
    answers = list(run(outcome.ranks, (*plain, *altered)).answers())
    return Proof(case, outcome, False, _effects_on_wrong_results(answers, outcome.ranks))


def _are_most(able: Collection[int], asked: Collection[int]) -> bool:
    """Return whether these numbers of ranks are enough of those asked for to judge by."""
    return 2 * len(able) > len(asked) and (max(asked) == 1 or max(able) >= FEWEST_RANKS)


def _plain_outcomes(run: Run, cases: Cases, ranks: int) -> list[Judged]:
    answers = run(ranks, cases[ranks]).having(subject="plain").answers()
    return [(case, answer) for case, answer in answers if isinstance(answer, Outcome)]


def _plain_is_right(run: Run, cases: Cases, ranks: int) -> bool:
    return bool(run(ranks, cases[ranks]).having(subject="plain").holding(assert_right))


def _evidence(run: Run, cases: Cases) -> tuple[Reduction, Outcome, bool]:
    """Return the plainest sum and whether it is right: on three ranks or more if there is one."""
    wrong: list[Judged] = []
    for ranks in _RANKS_FOR_FAULTS:
        found = _plain_outcomes(run, cases, ranks)
        if found and _plain_is_right(run, cases, ranks) and not (ranks == 2 and wrong):
            return *found[0], True
        wrong += found
    if wrong:
        return *wrong[0], False
    ranks = _RANKS_FOR_FAULTS[-1]
    ((case, outcome),) = run(ranks, cases[ranks]).having(subject="plain")
    return case, outcome, False


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
        if case.altered_message is None and isinstance(answer, Outcome)
    ]
    steady = [
        rank
        for rank in range(ranks)
        if len({_result(outcome, rank) for outcome in plain}) == 1 and len(plain) > 1
    ]
    return [
        FaultEffect(
            case.altered_message,
            answer.num_altered > 0,
            frozenset(rank for rank in steady if _result(answer, rank) != _result(plain[0], rank)),
        )
        for case, answer in answers
        if case.altered_message is not None and isinstance(answer, Outcome)
    ]


def _result(outcome: Outcome, rank: int) -> tuple[bytes, bytes]:
    return outcome["recv"][rank].tobytes(), outcome["meant"][rank].tobytes()


def _why_messages_do_not_matter(proof: Proof) -> str:
    """Return why wrong results owe nothing to what the ranks send each other, or nothing."""
    n = proof.outcome.ranks
    share = min(bytes_sent(proof.outcome.trace))
    if share * n < (n - 1) * proof.num_bytes:
        return (
            f"a rank sends only {share // proof.case.item_num_bytes} elements of an array of "
            f"{proof.case.num_elements}: too little to give the others what they need of it"
        )
    happened = [effect for effect in proof.effects if effect.happened]
    changing = [effect for effect in happened if effect.influenced]
    if not changing or 3 * len(changing) < len(happened):
        return (
            f"{len(happened)} messages were altered on their way, each in a run of its own, and "
            f"{len(changing)} of them changed a result: what is received is hardly used"
        )
    return ""


def _receiver(trace: Trace, effect: FaultEffect) -> int:
    fault = effect.message
    calls = trace.ranks[fault.rank].calls
    counted: Collection[Call] = [
        call for call in calls if call.is_send and call.num_bytes >= fault.min_num_bytes
    ]
    number = fault.number or 0
    return list(counted)[number].peer if number < len(counted) else -1
