"""The checks of psgd accept what the sheet asks for and name what it does not."""

from dataclasses import replace

import numpy as np
import pytest
from psgd_hogwild.psgd_cases import (
    Psgd,
    assert_average,
    assert_parts,
    assert_plain_sgd_bit_for_bit,
    assert_silent_meanwhile,
    cases_of,
)
from psgd_hogwild.training_cases import given_start

from grader.judge.findings import RuleViolation, WrongAnswer

from .made_outcomes import STEP_NS, batches_of, call, inputs_of, learned, outcome_of, told

CASE = Psgd(num_examples=22, epochs=2, batch_size=4, lr=0.25)
RANKS = 3


def run_of(case=CASE, *, end=None, parts=None, calls=()):
    """Return the outcome of a run; end(starts, learned, rank) says what a rank returns."""
    inputs = inputs_of(case, RANKS)
    parts = parts or [range(rank, case.num_examples, RANKS) for rank in range(RANKS)]
    batches = [batches_of(case, part) for part in parts]
    blank = outcome_of(case, inputs, [{}] * RANKS)
    starts = [given_start(blank, rank) for rank in range(RANKS)]
    all_learned = [learned(case, inputs[0], starts[0], own) for own in batches]
    end = end or (lambda starts, learned, rank: np.mean(learned, axis=0))
    results = [
        told(inputs[rank], end(starts, all_learned, rank), batches[rank]) for rank in range(RANKS)
    ]
    return outcome_of(case, inputs, results, calls)


def test_the_mean_of_what_the_ranks_learned_passes():
    """Also from different start weights, where rank 0's count."""
    assert_average(CASE, run_of())
    case = replace(CASE, starts_differ=True)
    assert_average(case, run_of(case))


@pytest.mark.parametrize(
    ("end", "mistake"),
    [
        (lambda starts, learned, rank: starts[rank], "no step was taken"),
        (lambda starts, learned, rank: np.sum(learned, axis=0), "are the sum over all ranks"),
        (lambda starts, learned, rank: learned[rank], "this rank alone has learned"),
        (
            lambda starts, learned, rank: np.average(learned, axis=0, weights=[8, 7, 7]),
            "weighted by the number of examples",
        ),
        (
            lambda starts, learned, rank: np.mean(learned, axis=0) if rank == 0 else learned[rank],
            "The weights of rank 1 are those that this rank alone",
        ),
    ],
)
def test_a_known_mistake_is_named(end, mistake):
    """The weights tell what was done with them."""
    with pytest.raises(WrongAnswer, match=mistake):
        assert_average(CASE, run_of(end=end))


def test_a_mean_from_different_starts_is_named():
    """Each rank trained from its own weights, nobody sent those of rank 0."""
    case = replace(CASE, starts_differ=True)
    inputs = inputs_of(case, RANKS)

    def end(starts, _, rank):
        batches = [batches_of(case, range(each, 22, RANKS)) for each in range(RANKS)]
        return np.mean(
            [learned(case, inputs[0], starts[each], batches[each]) for each in range(RANKS)], axis=0
        )

    with pytest.raises(WrongAnswer, match="the ranks started from different weights"):
        assert_average(case, run_of(case, end=end))


def test_an_average_after_every_epoch_is_named():
    """The second epoch of such a run begins with the mean of the first."""
    inputs = inputs_of(CASE, RANKS)
    one_epoch = replace(CASE, epochs=1)

    def end(starts, _, rank):
        weights = starts[0]
        for _ in range(CASE.epochs):
            weights = np.mean(
                [
                    learned(CASE, inputs[0], weights, batches_of(one_epoch, range(each, 22, RANKS)))
                    for each in range(RANKS)
                ],
                axis=0,
            )
        return weights

    with pytest.raises(WrongAnswer, match="averaged after every epoch"):
        assert_average(CASE, run_of(end=end))


def test_training_on_nothing_is_told():
    """A model that is never trained has no batches."""
    with pytest.raises(WrongAnswer, match="no rank computed a gradient"):
        assert_average(CASE, run_of(parts=[[], [], []]))


def test_any_disjoint_cover_passes():
    """Blocks are as good as strides, and unequal ones too."""
    assert_parts(CASE, run_of())
    assert_parts(CASE, run_of(parts=[range(10), range(10, 21), range(21, 22)]))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([range(22)] * 3, "example 0 was trained on by rank 0 and by rank 1"),
        ([range(7), range(7, 14), range(14, 21)], r"nobody was trained on example 21 \(1 of 22"),
        ([[0, 0, 1], range(2, 12), range(12, 22)], "rank 0 was trained on example 0 4 times"),
    ],
)
def test_what_is_no_partition_is_told(parts, words):
    """Shared, left out, repeated."""
    with pytest.raises(WrongAnswer, match=words):
        assert_parts(CASE, run_of(parts=parts))


def test_batches_of_another_size_are_told():
    """Twice the batch size makes half the steps."""
    outcome = run_of(replace(CASE, batch_size=8))
    with pytest.raises(WrongAnswer, match=r"rank 0 took 2 batches, expected 4 .*has 8 examples"):
        assert_parts(CASE, outcome)


@pytest.mark.parametrize("off", [0.0, 1e-7])
def test_one_rank_is_compared_bit_for_bit(off):
    """A difference far below any tolerance is a difference."""
    (given,) = inputs_of(CASE)
    gradients = np.random.default_rng(1).normal(size=(12, 18)).astype(np.float32)
    blank = outcome_of(CASE, [given], [{}])
    end = given_start(blank, 0).astype(np.float32)
    for gradient in gradients:
        end = end - np.float32(CASE.lr) * gradient
    end[0] += np.float32(off)
    batches = batches_of(CASE, range(22))
    outcome = outcome_of(CASE, [given], [told(given, end, batches, gradients=gradients)])
    if off:
        with pytest.raises(WrongAnswer, match=r"weight\[0, 0\] is"):
            assert_plain_sgd_bit_for_bit(CASE, outcome)
    else:
        assert_plain_sgd_bit_for_bit(CASE, outcome)


def test_messages_before_and_after_all_steps_pass():
    """The start is sent round before, the average is taken afterwards; batch 0 begins at 0."""
    calls = [[call("Bcast", -5), call("Allreduce", 8 * STEP_NS)]] * RANKS
    assert_silent_meanwhile(CASE, run_of(calls=calls))


def test_a_message_between_the_steps_is_told():
    """With the call, its line, and after how many batches."""
    calls = [[], [call("Allreduce", 2 * STEP_NS, line=30)], []]
    with pytest.raises(RuleViolation, match=r"rank 1 calls Allreduce at psgd.py:30 after 2 of its"):
        assert_silent_meanwhile(CASE, run_of(calls=calls))


def test_labels_tell_the_cases_of_a_launch_apart():
    """A launch refuses two cases of one label."""
    labels = [case.label for case in cases_of(3)]
    assert len(set(labels)) == len(labels)
