"""Rounds of FedAvg: right ones hold, and each known mistake costs its own question alone."""

import numpy as np
import pytest
from federated.fedavg_cases import RoundChecks
from federated.training_cases import Training

from grader.judge.check_failures import WrongAnswer

from .runs import START, federated, weighted

CASE = Training("train", file="x.py", num_training=79, client_sizes=(64, 15), is_skewed=True)
QUESTIONS = (
    "own_examples",
    "five_rounds",
    "local_sgd",
    "common_starts",
    "means",
    "weights",
    "model_kept",
)


def failures(run):
    """Return what each question that does not hold says of a training."""
    checks = RoundChecks()
    found = {}
    for question in QUESTIONS:
        try:
            getattr(checks, question)(run.case, run.outcome)
        except WrongAnswer as error:
            found[question] = str(error)
    return found


def test_the_weighted_mean_is_right():
    assert failures(federated(CASE)) == {}


def test_momentum_may_outlive_a_round():
    assert failures(federated(CASE, keeps_momentum=True)) == {}


@pytest.mark.parametrize(
    ("aggregated", "lost", "message"),
    [
        (lambda m, s: np.mean(m, axis=0), {"weights"}, "0.500, 0.500; .*: an unweighted mean"),
        (lambda m, s: weighted(m, s[::-1]), {"weights"}, "the weights 0.190, 0.810"),
        (lambda m, s: weighted(m, s) * 1.5, {"means"}, "add up to 1.5 instead of 1"),
        (lambda m, s: m[0] * 64 / 79, {"means", "weights"}, "the model of rank 2 is not in it"),
        (lambda m, s: m[1], {"means", "weights"}, "the model of rank 1 is not in it"),
        (lambda m, s: START, {"means", "weights"}, "still the one that the round began with"),
    ],
)
def test_a_wrong_mean_is_told_by_its_weights(aggregated, lost, message):
    found = failures(federated(CASE, aggregated))
    assert set(found) == lost
    with pytest.raises(WrongAnswer, match=f"round 0: .*{message}"):
        raise WrongAnswer(found.get("means") or found["weights"])


def test_an_array_that_is_not_averaged_is_named():
    def aggregated(models, sizes):
        mean = np.array(weighted(models, sizes))
        mean[-10:] = models[0][-10:] + 0.1
        return mean

    found = failures(federated(CASE, aggregated))
    assert set(found) == {"means"}
    assert "only fc3.bias went wrong: fc3.bias[" in found["means"]


def test_a_model_that_is_not_sent_back_costs_where_rounds_begin():
    found = failures(federated(CASE, sends_back=False))
    assert set(found) == {"common_starts"}
    assert "round 1: rank 2 starts with another model than rank 1" in found["common_starts"]


@pytest.mark.parametrize(
    ("rows", "lost", "message"),
    [
        (lambda client, mine: mine[:60], {"own_examples"}, "rank 1, epoch 0: .* never trained on"),
        (
            lambda client, mine: mine if client else np.concatenate([mine, mine]),
            {"five_rounds"},
            "rank 1 went through its examples 10 times; 5 rounds of 1 epoch are 5",
        ),
    ],
)
def test_a_wrong_local_epoch_is_told(rows, lost, message):
    found = failures(federated(CASE, rows=rows))
    assert lost <= set(found) <= lost | {"weights"}
    with pytest.raises(WrongAnswer, match=message):
        raise WrongAnswer(found[min(lost)])


def test_another_model_than_the_last_costs_one_question():
    run = federated(CASE)
    run.outcome.results[0]["model"] = START + np.float32(1)
    assert set(failures(run)) == {"model_kept"}
