"""Rounds of FedAvg: right ones hold, and each known mistake is told as what it is."""

import numpy as np
import pytest
from federated.rounds import assert_local_epochs, assert_rounds
from federated.training_cases import Training

from grader.judge.findings import WrongAnswer

from .runs import START, federated, weighted

CASE = Training("train", file="x.py", num_training=51, client_sizes=(37, 14), is_skewed=True)


def test_the_weighted_mean_is_right():
    assert_rounds(federated(CASE))


def test_momentum_may_outlive_a_round():
    assert_rounds(federated(CASE, keeps_momentum=True))


@pytest.mark.parametrize(
    ("aggregated", "message"),
    [
        (lambda models, sizes: np.mean(models, axis=0), r"0\.500, 0\.500; .*: an unweighted mean"),
        (lambda models, sizes: weighted(models, sizes[::-1]), r"the weights 0\.275, 0\.725"),
        (lambda models, sizes: weighted(models, sizes) * 1.5, "add up to 1.5 instead of 1"),
        (lambda models, sizes: models[0] * 37 / 51, "the model of rank 2 is not in it"),
        (lambda models, sizes: models[1], "it is (its own|that of rank 2)"),
        (lambda models, sizes: START, "still is the one that the round began with"),
    ],
)
def test_a_wrong_mean_is_told_by_its_weights(aggregated, message):
    with pytest.raises(WrongAnswer, match=f"round 0: .*{message}"):
        assert_rounds(federated(CASE, aggregated))


def test_an_array_that_is_not_averaged_is_named():
    def aggregated(models, sizes):
        mean = np.array(weighted(models, sizes))
        mean[-10:] = models[0][-10:] + 0.1
        return mean

    with pytest.raises(WrongAnswer, match=r"only fc3\.bias went wrong: fc3\.bias\["):
        assert_rounds(federated(CASE, aggregated))


def test_a_model_that_is_not_sent_back_is_told():
    with pytest.raises(WrongAnswer, match=r"rank 1 goes on .* its own, as trained locally"):
        assert_rounds(federated(CASE, sends_back=False))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda client, mine: mine[:32], "rank 1 trained on 5 batches|never trained on"),
        (lambda client, mine: np.concatenate([mine, mine[:1]]), "the same example .* twice"),
        (lambda client, mine: np.sort(mine)[:14], "rank 1: 23 of 37 examples were never trained"),
    ],
)
def test_a_wrong_local_epoch_is_told(rows, message):
    with pytest.raises(WrongAnswer, match=message):
        assert_local_epochs(federated(CASE, rows=rows))
