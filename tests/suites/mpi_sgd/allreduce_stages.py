"""What the calls of an all-reduce show where its results are wrong, missing or come another way.

Sizes and neighbours alone show nothing of a run that has ended as it should: its results have to
depend on its messages. Of a run that has not, and of one in which a rank leaves what it receives,
the calls are all that there is. They are those of the plainest sum on four and three ranks.
"""

import builtins
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

import numpy as np

from grader.api import (
    Attempt,
    Call,
    Outcome,
    RunFailure,
    Verdict,
    WrongAnswer,
    assert_answers_follow,
    assert_messages_matter,
    assert_one_neighbour,
    bytes_sent,
    calls_by_rank,
    every_contribution_fault,
    functions,
    inject_faults,
    messages,
    messages_with_contents,
    not_run,
    sends_of,
)

from .allreduce_cases import Reduction
from .allreduce_proof import (
    FEWEST_RANKS,
    Cases,
    Proof,
    Run,
    assert_chunks_are_passed_on,
    assert_results_come_from_messages,
    contribute,
    plain_is_right,
    plain_outcomes,
    prove,
)
from .allreduce_reasons import receive_left
from .allreduce_values import assert_reduced
from .failing_lines import is_raised

_RANKS = (4, 3, 2)
_CALLS = functions.NONBLOCKING_POINT_TO_POINT | functions.BLOCKING_POINT_TO_POINT
_REFUSED = (Verdict.RULE_VIOLATION, Verdict.NOT_PROVEN)


@dataclass(frozen=True)
class First:
    """The first message that a rank sends to another, else the first that it asks for."""

    is_send: bool
    ranks: int
    hops: int
    """How many ranks on it goes along a ring of all."""
    chunks: float
    """How long it is: n are the whole array. A probe asks for any length, which counts as one."""
    has_all_elements: bool
    """It has as many elements as the array, if shorter ones by a wrong datatype."""

    def is_whole(self) -> bool:
        """Return whether it is the whole array."""
        return self.chunks >= self.ranks

    def sends_whole(self) -> bool:
        """Return whether it sends what is meant to be the whole array."""
        return self.is_send and (self.is_whole() or self.has_all_elements)

    def is_to_a_neighbour(self) -> bool:
        """Return whether it sends a chunk or more, or half of it by a datatype of half the size."""
        return self.is_send and self.chunks >= 1 / 2 and self.hops in (1, self.ranks - 1)

    def is_step(self, hops: int) -> bool:
        """Return whether it is a chunk that goes so many ranks on."""
        return 1 / 2 < self.chunks < 3 / 2 and self.hops == hops % self.ranks


def assert_broadcasts_in_turn(run: Run, cases: Cases) -> None:
    """Assert that every rank gives its array to the others by a broadcast, and by nothing else.

    Results have to be right, and to change with what each rank gives.
    """
    for ranks in (each for each in _RANKS if each >= FEWEST_RANKS):
        for case, outcome in plain_outcomes(run, cases, ranks):
            if plain_is_right(run, cases, ranks) and _roots(outcome) == {*range(ranks)}:
                faults = every_contribution_fault(outcome, range(ranks))
                effects = inject_faults(run, ranks, case, outcome, faults, assert_reduced)
                assert_messages_matter(outcome.trace, effects)
                return
    _not_shown()


def assert_arrays_come_together(run: Run, cases: Cases) -> None:
    """Assert that messages bring whole arrays together, whatever becomes of them.

    Wrong results have to depend on as many of them as an all-reduce takes. Right ones may be handed
    out by a broadcast of the one rank to which all others send.
    """
    proof = prove(run, cases)
    outcome, n = proof.outcome, proof.outcome.ranks
    if not proof.is_right:
        if not _is_cut_short(outcome):
            assert_results_come_from_messages(run, cases)
        if sum(bytes_sent(outcome.trace)) >= 2 * (n - 1) * proof.num_bytes:
            return
    elif len(roots := _roots(outcome)) == 1:
        (root,) = roots
        if all(messages(outcome.trace, rank, root) for rank in range(n) if rank != root):
            assert_answers_follow(outcome.trace, proof.effects)
            return
    _not_shown()


def assert_exchange_has_begun(run: Run, cases: Cases) -> None:
    """Assert that ranks send or ask for whole arrays, and come to no end that shows more."""
    if not any(map(_is_cut_short, _beginning(run, cases, First.is_whole))):
        _not_shown()


def assert_arrays_are_sent(run: Run, cases: Cases) -> None:
    """Assert that ranks send their array to others, whoever receives it."""
    if not _beginning(run, cases, First.sends_whole):
        _not_shown()


def assert_name_is_misspelt(run: Run, cases: Cases) -> None:
    """Assert that a run on three ranks or more ends at the misspelt name of a call of messages.

    As if it were not misspelt, the ranks have to send all that an all-reduce takes, and sums of
    their arrays in half of that or more.
    """
    for ranks in (each for each in _RANKS if each >= FEWEST_RANKS):
        for case, attempt in run(ranks, cases[ranks]).having(subject="plain").attempts():
            for _, mended, _ in _mended(run, case, attempt):
                if _sends_sums(case, mended):
                    return
    _not_shown()


def assert_right_by_messages(run: Run, cases: Cases) -> None:
    """Assert that results are right, and come from messages of any size."""
    proof = prove(run, cases)
    outcome = proof.outcome
    if not proof.is_right or outcome.ranks < FEWEST_RANKS or _others(outcome):
        _not_shown()
    assert_results_come_from_messages(run, cases)


def assert_ring_is_complete(run: Run, cases: Cases) -> None:
    """Assert that chunks make as many steps as in a ring, and are passed on.

    Contents alone show it where wrong results leave out what has come.
    """
    proof = prove(run, cases)
    outcome = proof.outcome
    is_enough = outcome.ranks >= FEWEST_RANKS and _sends_enough(outcome, proof.num_bytes)
    if not is_enough or receive_left(outcome.trace):
        _not_shown()
    if proof.is_right or not _sends_sums_of_chunks(
        proof, proof.outcome.ranks - 1, proof.outcome.ranks
    ):
        assert_results_come_from_messages(run, cases)
        assert_chunks_are_passed_on(run, cases)


def assert_sums_go_around_a_ring(run: Run, cases: Cases) -> None:
    """Assert that chunks are summed up around a ring, and that something else does the rest.

    Beside a collective, what a rank sends on has to hold what it got: each message decides all
    ranks' results.
    """
    proof = prove(run, cases)
    n = proof.outcome.ranks
    if not proof.is_right or n < FEWEST_RANKS or not _sends_sums_of_chunks(proof, n - 2, n - 1):
        _not_shown()
    assert_results_come_from_messages(run, cases)
    if _others(proof.outcome):
        if any(each.happened and len(each.influenced) < n for each in proof.effects):
            _not_shown()
        assert_one_neighbour(proof.outcome.trace)
    else:
        assert_chunks_are_passed_on(run, cases)


def assert_ring_is_not_waited_for(run: Run, cases: Cases) -> None:
    """Assert that ranks send what a ring sends, and return without what they ask to receive."""
    num_bytes = prove(run, cases).num_bytes
    if not any(
        isinstance(each, Outcome) and _is_cut_short(each) and _sends_enough(each, num_bytes)
        for each in _rings_begun(run, cases)
    ):
        _not_shown()


def assert_ring_has_begun(run: Run, cases: Cases) -> None:
    """Assert that ranks begin with a chunk for one neighbour, or from it, as in a ring.

    Results, where they tell anything, have to depend on messages. If these are more than a ring
    takes, they may not be whole arrays.
    """
    begun = _rings_begun(run, cases)
    if not begun:
        _not_shown()
    if any(map(_is_cut_short, begun)):
        return
    assert_results_come_from_messages(run, cases)
    proof = prove(run, cases)
    n = proof.outcome.ranks
    if n * max(bytes_sent(proof.outcome.trace)) > 2 * (n - 1) * proof.num_bytes:
        with suppress(WrongAnswer):
            assert_chunks_are_passed_on(run, cases)


def assert_neighbours_are_sent_to(run: Run, cases: Cases) -> None:
    """Assert that ranks send a chunk or more to a neighbour, whoever receives it."""
    if not _beginning(run, cases, First.is_to_a_neighbour):
        _not_shown()


def _rings_begun(run: Run, cases: Cases) -> list[Outcome | RunFailure]:
    steps = [partial(First.is_step, hops=hops) for hops in (1, -1)]
    return [answer for step in steps for answer in _beginning(run, cases, step)]


def _sends_enough(outcome: Outcome, num_bytes: int) -> bool:
    """Return whether each rank sends as much as a ring takes for an array of this size."""
    n = outcome.ranks
    return n * min(bytes_sent(outcome.trace)) >= 2 * (n - 1) * num_bytes


def _beginning(run: Run, cases: Cases, fits: Callable[[First], bool]) -> list[Outcome | RunFailure]:
    """Return what came of runs in which all ranks but one at most begin so: one may have failed.

    Right results, where there are any, have to come from the messages. No run may go another way,
    and those that raise an error of their own show nothing.
    """
    plain = [run(ranks, cases[ranks]).having(subject="plain") for ranks in _RANKS]
    made: list[tuple[Reduction, Attempt, Outcome | RunFailure]] = []
    for launch in plain:
        answers = dict(launch.answers())
        for case, attempt in launch.attempts():
            if _hangs_before_a_send(attempt):
                made += _unwaited(run, case, attempt, answers[case])
            else:
                made += _mended(run, case, attempt) or [(case, attempt, answers[case])]
    if any(plain_is_right(run, cases, ranks) for ranks in _RANKS):
        assert_results_come_from_messages(run, cases)
    if any(_goes_another_way(answer) for launch in plain for _, answer in launch.answers()):
        return []
    return [
        answer
        for case, attempt, answer in made
        if attempt.ranks >= FEWEST_RANKS
        and not (attempt.failure and is_raised(attempt.failure))
        and sum(map(fits, _firsts(case, attempt))) >= attempt.ranks - 1
        and contribute(attempt.trace, [given["send"] for given in attempt.inputs])
    ]


def _firsts(case: Reduction, attempt: Attempt) -> list[First]:
    firsts, n = [], attempt.ranks
    chunk_num_bytes = case.num_elements * case.item_num_bytes / n
    for rank, seen in enumerate(attempt.trace.ranks):
        asked = seen.calls.flag("is_receive") | seen.calls.function_is(lambda name: "robe" in name)
        for call in [*sends_of(attempt.trace, rank)[:1], *seen.calls.where(asked)[:1]][:1]:
            chunks = call.num_bytes / chunk_num_bytes if call.num_bytes >= 0 else 1
            hops = call.peer - rank if call.is_send else rank - call.peer
            has_all = call.num_elements == case.num_elements
            firsts.append(First(call.is_send, n, hops % n, chunks, has_all))
    return firsts


def _goes_another_way(answer: Outcome | RunFailure) -> bool:
    """Return whether a run has ended at a file, a socket or a program: its calls may be decoys."""
    if isinstance(answer, Outcome):
        return False
    raised = [getattr(builtins, word, None) for word in answer.kind.split(": ")]
    return answer.verdict in _REFUSED or any(
        isinstance(each, type) and issubclass(each, OSError) for each in raised
    )


def _is_cut_short(answer: Outcome | RunFailure) -> bool:
    """Return whether results, if there are any, do not tell what the calls would have led to.

    Those of receives that nobody waits for do not, unless each is one number everywhere.
    """
    if isinstance(answer, RunFailure):
        return True
    is_constant = all(len(np.unique(recv)) <= 1 for recv in answer["recv"])
    return receive_left(answer.trace) is not None and not is_constant


def _hangs_before_a_send(attempt: Attempt) -> bool:
    is_stuck = attempt.failure is not None and attempt.failure.verdict is Verdict.DEADLOCK
    return is_stuck and not any(bytes_sent(attempt.trace))


def _unwaited(
    run: Run, case: Reduction, attempt: Attempt, answer: Outcome | RunFailure
) -> list[tuple[Reduction, Attempt, Outcome | RunFailure]]:
    """Return what a run that hangs before it sends would send if it waited for nothing.

    It has to be half of what an all-reduce takes: anybody can ask for a message.
    """
    unwaited = replace(case, probe="reduce_unwaited", subject="", call="unwaited")
    least = (attempt.ranks - 1) * case.num_elements * case.item_num_bytes
    attempts = run(attempt.ranks, (unwaited,)).attempts()
    return [
        (unwaited, each, answer) for _, each in attempts if sum(bytes_sent(each.trace)) >= least
    ]


def _mended(
    run: Run, case: Reduction, attempt: Attempt
) -> list[tuple[Reduction, Attempt, Outcome | RunFailure]]:
    """Return what a run that ended at a misspelt name does without that; empty for any other."""
    failure = attempt.failure
    if failure is None or is_raised(failure) or not _is_misspelt(failure):
        return []
    mended = replace(case, probe="reduce_mended", subject="", call="mended")
    launch = run(attempt.ranks, (mended,))
    answers = dict(launch.answers())
    return [(mended, attempt, answers[mended]) for _, attempt in launch.attempts()]


def _is_misspelt(failure: RunFailure) -> bool:
    meant = {each.facts.get("meant") for each in failure.findings}
    return bool(meant & (_CALLS | functions.COMPLETION))


def _sends_sums_of_chunks(proof: Proof, num_arrays: int, most_ranks: int) -> bool:
    """Return whether ranks send chunks, and so many arrays of sums of 2 to so many ranks."""
    trace = proof.outcome.trace
    sent = [each for told in messages_with_contents(trace, proof.summed) for each in told]
    num_bytes = sum(
        each.num_bytes
        for each in sent
        if any(1 < len(ranks) <= most_ranks for ranks in each.sets or ())
    )
    longest_num_bytes = max((each.call.num_bytes for each in sent), default=0)
    return num_bytes >= num_arrays * proof.num_bytes and 2 * longest_num_bytes <= proof.num_bytes


def _sends_sums(case: Reduction, attempt: Attempt) -> bool:
    """Return whether ranks exchange as much as an all-reduce takes, and half of it is their arrays.

    What nobody receives does not count.
    """
    sends = [given["send"] for given in attempt.inputs]
    least = 2 * (attempt.ranks - 1) * case.num_elements * case.item_num_bytes
    received = 0
    for rank in attempt.trace.ranks:
        is_complete = rank.calls.flag("is_receive") & (rank.calls.column("completed_ns") > 0)
        received += rank.calls.where(is_complete).total("num_bytes")
    exchanged = min(received, sum(bytes_sent(attempt.trace)))
    if exchanged < least or not contribute(attempt.trace, sends):
        return False
    told = [each for sent in messages_with_contents(attempt.trace, sends) for each in sent]
    return 2 * sum(each.call.num_bytes for each in told if each.is_contribution) >= least


def _roots(outcome: Outcome) -> set[int]:
    """Return the ranks that broadcast, where nothing but messages and broadcasts brings data."""
    calls = _others(outcome)
    are_broadcasts = all(call.function in ("Bcast", "Ibcast") for call in calls)
    return {call.peer for call in calls} if are_broadcasts else set()


def _others(outcome: Outcome) -> list[Call]:
    made = calls_by_rank(outcome.trace, functions=functions.BY_OTHER_THAN_MESSAGES)
    return [call for _, call in made]


def _not_shown() -> NoReturn:
    not_run("no run made the calls that this check needs")
