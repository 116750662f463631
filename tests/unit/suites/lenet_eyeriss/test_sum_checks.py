"""What is sound in gradients that are not the mean is told from what is not."""

import numpy as np
import pytest
from lenet_eyeriss.mistakes import known_mistake
from lenet_eyeriss.sum_checks import (
    assert_all_but_one,
    assert_divided,
    assert_goes_all_the_way_round,
    assert_nearly_all_in_every_epoch,
    assert_one_rank_complete,
    complete_ranks,
    missing_in,
)
from lenet_eyeriss.training_checks import (
    assert_mean_to_rounding,
    assert_replicas_equal,
    assert_trained_as_one,
)

from grader.api import WrongAnswer

from ...judge.build import outcome
from .building import failing
from .test_training_checks import CASE, NUM_RANKS, NUMBERS, mean, trained

SUM_CHECKS = (
    assert_one_rank_complete,
    assert_nearly_all_in_every_epoch,
    assert_goes_all_the_way_round,
    assert_divided,
)


def test_the_mean_passes_every_check() -> None:
    found = trained(mean)
    for check in SUM_CHECKS:
        check(CASE, found)
    assert complete_ranks(found) == {0, 1, 2}
    assert_trained_as_one(CASE, found)
    assert_mean_to_rounding(CASE, found)
    assert_replicas_equal(CASE, found)


def without_rank_0(own, rank, epoch):
    return own[1:].sum(axis=0) / len(own)


def without_the_own(own, rank, epoch):
    return np.delete(own, rank, axis=0).mean(axis=0)


def own_alone(own, rank, epoch):
    return own[rank] / len(own)


def test_sums_of_all_ranks_but_one_are_told_apart() -> None:
    for gradients, missing in ((without_rank_0, [0, 0, 0]), (without_the_own, [0, 1, 2])):
        found = trained(gradients)
        assert_all_but_one(CASE, found)
        assert [missing_in(found, rank) for rank in range(NUM_RANKS)] == missing
    with failing(WrongAnswer, "sum.several_ranks_missing"):
        assert_all_but_one(CASE, trained(own_alone))
    with failing(WrongAnswer, "sum.several_ranks_missing"):
        assert_all_but_one(CASE, trained(mean))


def one_chunk_each(own, rank, epoch):
    """Reduce-scatter alone: the others' chunks hold what has come so far."""
    chunks = np.array_split(own.copy(), NUM_RANKS, axis=1)
    for number, chunk in enumerate(chunks):
        come = [(rank - step) % NUM_RANKS for step in range((number - rank) % NUM_RANKS + 1)]
        chunk[rank] = chunk[come].sum(axis=0)
    return np.concatenate([chunk[rank] for chunk in chunks])


def chunk_twice(own, rank, epoch):
    """A right ring, but in one chunk rank 0 is twice and rank 1 not at all."""
    found = own.mean(axis=0)
    found[:20_000] = ((2 * own[0] + own[2]) / NUM_RANKS)[:20_000]
    return found


@pytest.mark.parametrize(
    "synchronise, holding",
    [
        (lambda own, rank, epoch: own.sum(axis=0), {0, 1, 2}),
        (lambda own, rank, epoch: own.sum(axis=0) / 4, {0, 1, 2}),
        (lambda own, rank, epoch: own[rank] if rank else own.mean(axis=0), {0, 3}),
        (one_chunk_each, {2}),
        (chunk_twice, {2, 3}),
        (lambda own, rank, epoch: own[rank], set()),
        (lambda own, rank, epoch: own[0], set()),
        (lambda own, rank, epoch: own[rank] * 0, set()),
        (lambda own, rank, epoch: own[rank] + own[rank - 1], set()),
        (lambda own, rank, epoch: own.max(axis=0), set()),
    ],
    ids=[
        *("sum", "sum by four", "mean on rank 0", "reduce-scatter", "a chunk wrong"),
        *("own", "rank 0's", "zero", "one neighbour", "maximum"),
    ],
)
def test_what_is_sound_is_told_from_what_is_not(synchronise, holding) -> None:
    found = trained(synchronise)
    held = set()
    for number, check in enumerate(SUM_CHECKS):
        try:
            check(CASE, found)
        except WrongAnswer:
            continue
        held.add(number)
    assert held == holding


def test_chunks_that_stay_where_they_are_complete_are_told() -> None:
    with failing(WrongAnswer, "mean.chunks_not_passed_on", NUMBERS, rank=0):
        assert_trained_as_one(CASE, trained(one_chunk_each))
    with failing(WrongAnswer, "mean.chunks_not_passed_on"):
        assert_nearly_all_in_every_epoch(CASE, trained(one_chunk_each))


def test_one_rank_has_no_other_to_pass_a_chunk_on_to() -> None:
    found = trained(mean)
    result = found.results[0]
    result["averaged"] = result["own"].copy()
    result["averaged"][0, :1000] *= 2
    alone = outcome(CASE, found.inputs[:1], [result])
    mistake = known_mistake(alone, 0, epoch=0)
    assert (mistake.key, mistake.facts["repeated"]) == ("mean.unequal_shares", (0,))


def test_who_is_in_a_sum_how_often_is_told() -> None:
    facts = {"first": "c1.weight[0, 0, 0, 0]", "repeated": (0,), "missing": (1,)}
    with failing(WrongAnswer, "mean.unequal_shares", NUMBERS, **facts):
        assert_trained_as_one(CASE, trained(chunk_twice))


def test_what_is_returned_instead_of_written_counts_as_a_sum_only() -> None:
    found = trained(mean)
    for result in found.results:
        result["returned"] = result["averaged"][:1]
        result["averaged"] = result["averaged"][:0]
        result["problem"] = "c1.weight.grad is None after the call"
    assert_one_rank_complete(CASE, found)
    assert_divided(CASE, found)
    for check in (assert_nearly_all_in_every_epoch, assert_trained_as_one):
        with failing(WrongAnswer, "gradient.missing"):
            check(CASE, found)
