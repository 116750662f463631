"""Data-parallel steps: right ones hold, and each known mistake is told as what it is."""

import numpy as np
import pytest
from federated import lenet
from federated.steps import assert_shares, assert_steps
from federated.training_cases import Training

from grader.judge.findings import WrongAnswer

from .runs import START, data_parallel

CASE = Training("train", file="x.py", num_training=100)
RANKS = 2
ALL = range(RANKS)


def total(gradients):
    return np.sum(list(gradients.values()), axis=0)


def test_the_mean_of_all_gradients_is_right():
    assert_steps(data_parallel(CASE, RANKS), ALL, ALL)


@pytest.mark.parametrize(
    ("used", "message"),
    [
        (lambda rank, g: total(g), "summed and not divided by how many"),
        (lambda rank, g: 50 * total(g), "multiplied by each rank's number of examples, and not"),
        (lambda rank, g: total(g) / 100, "divided by the number of all examples, and not first"),
        (lambda rank, g: total(g) / 4, "divided by the number of ranks twice"),
        (lambda rank, g: g[0] / 2, "the gradient of rank 1 is not in it"),
        (lambda rank, g: 0.3 * g[0] + 0.7 * g[1], "weights of the ranks are not equal"),
        (lambda rank, g: g[rank], "rank 0 .* it steps with its own gradient alone"),
        (lambda rank, g: total(g) / 2 if rank else 0 * g[0], "rank 0 .* still the one from before"),
    ],
)
def test_a_wrong_mean_is_told_by_what_is_in_it(used, message):
    with pytest.raises(WrongAnswer, match=message):
        assert_steps(data_parallel(CASE, RANKS, used), ALL, ALL)


def test_a_missing_momentum_is_found_in_the_second_step():
    with pytest.raises(WrongAnswer, match=r"step 1: .*no momentum of 0\.9"):
        assert_steps(data_parallel(CASE, RANKS, momentum=0.0), ALL, ALL)


def test_an_array_that_is_not_averaged_is_named():
    def used(rank, gradients):
        arrays = lenet.unpacked(total(gradients) / 2)
        return lenet.packed({**arrays, "fc2.bias": lenet.unpacked(gradients[rank])["fc2.bias"]})

    with pytest.raises(WrongAnswer, match=r"only fc2\.bias went wrong: fc2\.bias\["):
        assert_steps(data_parallel(CASE, RANKS, used), ALL, ALL)


def test_different_starts_are_told_apart_from_wrong_steps():
    run = data_parallel(CASE, RANKS, start=lambda rank: START + np.float32(rank))
    with pytest.raises(WrongAnswer, match="rank 1 starts with another model than rank 0"):
        assert_steps(run, ALL, ALL)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda rank, batch: batch, "a gradient of 100 examples; its share .* on 2 ranks is"),
        (lambda rank, batch: batch[:50], "ranks 0 and 1 computed gradients of the same example"),
        (lambda rank, batch: np.repeat(batch[rank::4], 2), "the same example .* twice"),
    ],
)
def test_a_wrong_share_is_told(rows, message):
    with pytest.raises(WrongAnswer, match=message):
        assert_shares(data_parallel(CASE, RANKS, rows=rows), ALL)


def test_a_rank_that_should_not_compute_is_named():
    with pytest.raises(WrongAnswer, match="rank 0 computed 3 gradients itself; the server leaves"):
        assert_shares(data_parallel(CASE, RANKS), [1])


def test_examples_that_are_left_out_in_an_epoch_are_counted():
    case = Training("train", file="x.py", num_training=200)
    run = data_parallel(case, RANKS, rows=lambda rank, batch: np.arange(rank * 50, rank * 50 + 50))
    with pytest.raises(WrongAnswer, match="epoch 0: 100 of 200 examples were never trained on"):
        assert_shares(run, ALL)
