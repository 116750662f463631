"""What is judged by which outcomes, and what altered messages prove: of right and wrong results."""

import re
from dataclasses import replace

import numpy as np
import pytest
from mpi_sgd.allreduce_cases import DrawnReduction, Reduction, cases_by_ranks
from mpi_sgd.allreduce_proof import (
    assert_chunks_are_passed_on,
    assert_results_come_from_messages,
    prove,
)
from mpi_sgd.allreduce_reasons import receive_left
from mpi_sgd.allreduce_rules import WRONG_DTYPE, assert_ability, assert_rule
from mpi_sgd.allreduce_values import assert_reduced_by_messages

from grader.grading_plugin.launch_results import RunFailed, make_launch
from grader.judge.check_failures import NotProven, RuleViolation, WrongAnswer
from grader.judge.traffic.fault_effects import (
    assert_messages_matter,
    assert_some_message_matters,
)
from grader.model.report import RunFailure, Verdict

from ...judge.build import Run, outcome, samples_of_bytes, trace_of
from .outcomes import call, inputs_of, raising

CASES = cases_by_ranks("my_naive_allreduce.py", "allreduce")
DEAD = RunFailure(Verdict.DEADLOCK, "rank 0 waits for rank 1")
RANDOM = np.random.default_rng(3)
Skipped = pytest.skip.Exception


def others(rank, ranks):
    return [other for other in range(ranks) if other != rank]


class AllReduce:
    """The naive one, and with `chunks` one that sends shares around a ring.

    answer: the recv of a rank, of the case, what is right, and whether an altered message has
    reached it. unanswered: asked for a case and a number of ranks, whether it hangs.
    """

    def __init__(self, answer, *, unanswered=lambda case, ranks: False, chunks=False, share=1):
        self.answer, self.unanswered, self.chunks, self.share = answer, unanswered, chunks, share
        self.launches = []

    def run(self, ranks, cases):
        self.launches.append((ranks, cases))
        answers = [DEAD if self.unanswered(c, ranks) else self.outcome(c, ranks) for c in cases]
        return make_launch(cases, answers, ranks)

    def receivers(self, order, ranks):
        if order is None:
            return set()
        return set(range(ranks)) if self.chunks else {others(order.rank, ranks)[order.number]}

    def outcome(self, case, ranks):
        inputs = inputs_of(case, ranks)
        kinds = (Reduction, DrawnReduction)
        if type(case) not in kinds or case.purpose not in ("values", "drawn"):
            return outcome(case, inputs, [{}] * ranks)
        right, order = case.reduce_serially(inputs), case.message_fault
        reached = self.receivers(order, ranks)
        recvs = [self.answer(case, right, rank in reached) for rank in range(ranks)]
        nothing = np.zeros(0)
        results = [
            {"recv": recv, "send": given["send"], "meant": nothing}
            for recv, given in zip(recvs, inputs, strict=True)
        ]
        num_bytes = right.nbytes * self.share
        calls = [
            [
                replace(call("Isend", int(num_bytes), peer=other, line=20 + other), is_send=True)
                for other in ([(r + 1) % ranks] if self.chunks else others(r, ranks))
                if self.share
            ]
            for r in range(ranks)
        ]
        made = outcome(case, inputs, results)
        return replace(made, trace=trace_of(calls), num_altered=int(order is not None))


def honest(case, right, reached):
    return right + (np.arange(right.size).reshape(right.shape) == 7) if reached else right


def decoy(case, right, reached):
    return right


def wrong(case, right, reached):
    return honest(case, right, reached) + 1


def test_each_message_reaches_its_receiver():
    """The case is a sum in which every element counts, and which the ranks divide evenly."""
    submission = AllReduce(honest)
    proof = prove(submission.run, CASES)
    assert proof.is_right and proof.outcome.ranks == 4
    assert_messages_matter(proof.outcome.trace, proof.effects)
    for effect in proof.effects:
        assert effect.influenced == {others(effect.message.rank, 4)[effect.message.number]}
    assert len(proof.effects) == 2 * 3
    (altered, *_) = submission.launches[-1][1]
    assert altered.op == "np.add" and altered.num_elements % 4 == 0 and not altered.given
    assert_results_come_from_messages(submission.run, CASES)


def test_decoys_are_not_proven():
    """The sentence names the line that sent the first of them."""
    proof = prove(AllReduce(decoy).run, CASES)
    with raising(NotProven, "evidence.no_altered_message_matters"):
        assert_some_message_matters(proof.effects)
    with raising(NotProven, "evidence.altered_message_without_effect") as error:
        assert_messages_matter(proof.outcome.trace, proof.effects)
    assert re.search(r"Isend at .*:2[0-3]", error.value.findings[0].text)
    with raising(NotProven, "evidence.no_altered_message_matters") as error:
        assert_results_come_from_messages(AllReduce(decoy).run, CASES)
    assert error.value.case.startswith("4 ranks, length 240")


def test_messages_of_wrong_results_matter_too():
    """They are compared with what is the same each time, on the same inputs."""
    submission = AllReduce(wrong)
    proof = prove(submission.run, CASES)
    assert not proof.is_right
    assert all(len(effect.influenced) == 1 for effect in proof.effects) and proof.effects
    assert all(case.given for case in submission.launches[-1][1])
    assert_results_come_from_messages(submission.run, CASES)


def test_wrong_results_that_owe_nothing_to_messages_are_wrong_answers():
    """What is wrong anyway needs no person to look at it."""
    ignores = AllReduce(lambda case, right, reached: right + 1)
    with raising(WrongAnswer, "messages.hardly_used", changing=0) as error:
        assert_results_come_from_messages(ignores.run, CASES)
    assert "recv[0] is" in error.value.findings[-1].text and error.value.differences
    assert error.value.case.startswith("4 ranks, length 240")
    little = AllReduce(wrong, share=1 / 240)
    with raising(WrongAnswer, "messages.too_little_sent", num_elements=3) as error:
        assert_results_come_from_messages(little.run, CASES)
    assert "of its 240 elements" in error.value.findings[0].text


def test_what_wrong_results_hold_is_told_after_why_messages_do_not_matter():
    own = AllReduce(lambda case, right, reached: np.full_like(right, 777))
    with raising(WrongAnswer, "messages.hardly_used", "allreduce.recv_untouched"):
        assert_results_come_from_messages(own.run, CASES)


def test_a_collective_beside_messages_that_do_nothing_is_a_violation():
    """Where the results are right, nothing else tells it."""
    beside = AllReduce(decoy, share=1 / 240)
    reduces = call("Allreduce", 1920, line=5)
    sends = beside.outcome

    def with_a_collective(case, ranks):
        found = sends(case, ranks)
        calls = [[*seen.calls, reduces] for seen in found.trace.ranks]
        return replace(found, trace=trace_of(calls) if calls else found.trace)

    beside.outcome = with_a_collective
    keys = "messages.beside_a_collective", "messages.too_little_sent"
    with raising(RuleViolation, *keys, rank=0, call="Allreduce", place="sync_network.py:5"):
        assert_results_come_from_messages(beside.run, CASES)


def test_results_that_differ_each_time_show_no_influence():
    """Of memory that nobody has written."""
    random = np.random.default_rng(3)
    noisy = AllReduce(lambda case, right, reached: right + random.random())
    with raising(WrongAnswer, "messages.hardly_used", changing=0):
        assert_results_come_from_messages(noisy.run, CASES)


def test_silence_is_a_violation():
    """Nothing was sent, so nothing can be altered."""
    with raising(RuleViolation, "rule.no_messages", num_ranks=4):
        assert_results_come_from_messages(AllReduce(wrong, share=0).run, CASES)


def test_another_number_of_ranks_is_taken_where_one_has_no_answer():
    """Four, else three, else two; a right one before a wrong one, but for two ranks."""
    assert prove(AllReduce(honest, unanswered=lambda c, n: n == 4).run, CASES).outcome.ranks == 3
    assert prove(AllReduce(honest, unanswered=lambda c, n: n > 2).run, CASES).outcome.ranks == 2

    def right_on_three(case, right, reached):
        return honest(case, right, reached) + (case.message_fault is None)

    three = AllReduce(right_on_three)
    three.answer = lambda case, right, reached: honest(case, right, reached)
    assert prove(three.run, CASES).outcome.ranks == 4
    with pytest.raises(RunFailed):
        prove(AllReduce(honest, unanswered=lambda c, n: True).run, CASES)


def test_a_ring_passes_chunks_on():
    """Whole arrays do not count, nor what no further rank hears of."""
    assert_chunks_are_passed_on(AllReduce(honest, chunks=True, share=1 / 4).run, CASES)
    whole = "ring.whole_arrays_sent"
    with raising(RuleViolation, whole, num_elements=720, num_messages=3) as error:
        assert_chunks_are_passed_on(AllReduce(honest).run, CASES)
    assert "720 elements in 3 messages; a chunk has 60." in error.value.findings[0].text
    with raising(RuleViolation, whole, num_messages=1) as error:
        assert_chunks_are_passed_on(AllReduce(honest, chunks=True).run, CASES)
    assert "in 1 message;" in error.value.findings[0].text
    with raising(RuleViolation, whole, num_elements=360, num_messages=3):
        assert_chunks_are_passed_on(AllReduce(honest, share=1 / 2).run, CASES)
    with raising(WrongAnswer, "ring.not_passed_on"):
        assert_chunks_are_passed_on(AllReduce(honest, share=1 / 4).run, CASES)
    with pytest.raises(Skipped):
        on_two = AllReduce(honest, chunks=True, unanswered=lambda c, n: n > 2)
        assert_chunks_are_passed_on(on_two.run, CASES)


def sent_around(pieces_of):
    """Return a sum whose ranks send pieces, step by step; pieces_of: of all arrays, for each step.

    Each rank has received what was sent to it in the step before.
    """
    submission = AllReduce(honest, chunks=True, share=1 / 4)
    without = submission.outcome

    def with_pieces(case, ranks):
        made, sent = without(case, ranks), Run(ranks)
        if type(case) is not Reduction or case.num_elements != 240:
            return made
        for pieces in pieces_of([given["send"].ravel() for given in made.inputs]):
            for rank, some in enumerate(pieces):
                for piece in some:
                    sampled = samples_of_bytes(piece.tobytes(), RANDOM)
                    size = {"num_elements": piece.size, "num_bytes": piece.nbytes}
                    sent.isend(rank, (rank + 1) % ranks, **{**sampled, **size})
                    sent.recv((rank + 1) % ranks, rank)
        return replace(made, trace=sent.trace())

    submission.outcome = with_pieces
    return submission.run


def ring_of(num_steps):
    """Return what a ring of so many steps sends; in all after 2 (n - 1) nothing changes."""

    def pieces_of(arrays):
        n = len(arrays)
        chunks = [np.array_split(array.copy(), n) for array in arrays]
        for step in range(num_steps):
            out = [chunks[rank][(rank - step) % n].copy() for rank in range(n)]
            yield [[each] for each in out]
            for rank in range(n):
                number = (rank - 1 - step) % n
                own = chunks[rank][number] if step < n - 1 else 0
                chunks[rank][number] = own + out[rank - 1]

    return pieces_of


def chain_in(length):
    """Return what goes from rank 0 to the last one and once more around, in short pieces."""

    def pieces_of(arrays):
        n, total = len(arrays), np.zeros_like(arrays[0])
        for step in range(2 * n - 2):
            total = total + arrays[step] if step < n else total
            pieces = np.array_split(total, len(total) // length)
            yield [pieces if rank == step % n else [] for rank in range(n)]

    return pieces_of


def test_too_many_steps_of_a_ring_are_no_whole_arrays():
    """That these are more than a ring needs is another check's to say."""
    for num_steps in (6, 8, 12):
        assert_chunks_are_passed_on(sent_around(ring_of(num_steps)), CASES)
    for length in (1, 2, 60):
        with raising(RuleViolation, "ring.whole_arrays_sent"):
            assert_chunks_are_passed_on(sent_around(chain_in(length)), CASES)


def test_an_ability_is_judged_where_the_plainest_sum_is_right():
    """On most of the numbers of ranks that it asks for."""

    def wrong_where(matches):
        return AllReduce(
            lambda case, right, reached: right + (1 if matches(case) else 0),
        )

    lengths = wrong_where(lambda case: case.num_elements % 240)
    with pytest.raises(WrongAnswer) as error:
        assert_ability(lengths.run, CASES, "any length")
    assert error.value.case.startswith("2 ranks, length 7")
    with pytest.raises(WrongAnswer):
        assert_ability(lengths.run, CASES, "unbuffered", "any length")
    hangs_on_two = AllReduce(honest, unanswered=lambda case, ranks: ranks == 2)
    assert_ability(hangs_on_two.run, CASES, "any length")
    hangs_from_four = AllReduce(honest, unanswered=lambda case, ranks: ranks > 3)
    with pytest.raises(Skipped, match="fails on 4, 5, and 16 ranks"):
        assert_ability(hangs_from_four.run, CASES, "any length")
    empty = wrong_where(lambda case: False)
    empty.answer = lambda case, right, reached: right if right.size else np.ones((1,))
    with raising(WrongAnswer, WRONG_DTYPE.key) as error:
        assert_ability(empty.run, CASES, "no elements", hint=WRONG_DTYPE)
    assert "length 0" in error.value.case and error.value.findings[-1].key == "value.differs"


def test_a_hint_comes_after_why_a_run_ended():
    empty = AllReduce(honest, unanswered=lambda case, ranks: not case.num_elements)
    with pytest.raises(RunFailed) as error:
        assert_ability(empty.run, CASES, "no elements", hint=WRONG_DTYPE)
    failure = error.value.failure
    assert failure.verdict is Verdict.DEADLOCK
    assert failure.message == f"{DEAD.message}; {WRONG_DTYPE}"
    assert failure.findings[-1] == WRONG_DTYPE and failure.findings[0].text == DEAD.message
    with pytest.raises(RunFailed) as error:
        assert_ability(empty.run, CASES, "no elements")
    assert error.value.failure == DEAD


def test_a_rule_is_judged_by_right_outcomes():
    """Of which one has three ranks or more."""
    judged = []

    def rule(case, outcome):
        judged.append((outcome.ranks, case.subject))

    assert_rule(AllReduce(honest).run, CASES, rule)
    assert {ranks for ranks, _ in judged} == {2, 3, 4, 5, 8, 16}
    assert "any length" in {subject for _, subject in judged}
    judged.clear()
    two = AllReduce(honest, unanswered=lambda case, ranks: ranks > 2)
    for submission in (AllReduce(wrong), two):
        with pytest.raises(Skipped, match="a correct result from messages"):
            assert_rule(submission.run, CASES, rule)
    assert not judged


def test_results_are_proven_by_any_case_that_is_right():
    """Where the plainest is not; a maximum does not show what was reduced twice."""
    only = AllReduce(
        lambda case, right, reached: (
            honest(case, right, reached) + (case.op not in ("np.multiply", "np.maximum"))
        )
    )
    proof = prove(only.run, CASES)
    assert proof.is_right and proof.case.op == "np.multiply" and proof.outcome.ranks == 4
    maxima = AllReduce(
        lambda case, right, reached: honest(case, right, reached) + (case.op != "np.maximum")
    )
    assert not prove(maxima.run, CASES).is_right


def test_what_is_received_and_never_waited_for_is_right_by_luck():
    """The first such line is named."""
    lucky = AllReduce(honest)
    made = lucky.outcome

    def with_receives(case, ranks):
        found = made(case, ranks)
        receive = replace(call("Irecv", 8, line=7), is_receive=True, creates_request=True)
        calls = [[*seen.calls, replace(receive, completed_ns=0)] for seen in found.trace.ranks]
        return replace(found, trace=trace_of(calls) if calls else found.trace)

    lucky.outcome = with_receives
    assert not prove(lucky.run, CASES).is_right
    with raising(WrongAnswer, "allreduce.receive_left", place="sync_network.py:7"):
        assert_reduced_by_messages(CASES[3][0], lucky.outcome(CASES[3][0], 3))
    with raising(WrongAnswer, "allreduce.receive_left"):
        assert_results_come_from_messages(lucky.run, CASES)


def test_whoever_asks_for_the_status_of_a_request_waits_for_it():
    """The call leaves the request incomplete, for a rank that goes on when all has come."""
    receive = replace(call("Irecv", 8), completed_ns=0)
    sends = [call("Isend", 8, peer=1)]
    assert receive_left(trace_of([sends, [receive]]))
    assert receive_left(trace_of([sends, [receive, call("Request_get_status")]])) is None
