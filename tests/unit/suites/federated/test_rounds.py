"""Rounds of FedAvg: right ones hold, and each known mistake costs its own question alone."""

import numpy as np
import pytest
from federated.fedavg_cases import RoundChecks
from federated.training_cases import Training

from .runs import START, Rank, failures_of, federated, raises, trained, weighted

CASE = Training("train", file="x.py", num_training=79, client_sizes=(64, 15), is_skewed=True)
QUESTIONS = (
    "own_examples",
    "five_rounds",
    "local_sgd",
    "common_starts",
    "means",
    "weights",
    "model_kept",
    "global_model_used",
    "several_in_global_models",
    "parts_differ",
    "half_of_parts",
)


ONE_CLIENT = {"means", "weights", "several_in_global_models"}


def failures(run):
    """Return the failure of each question that does not hold for a training."""
    return failures_of(RoundChecks(), run, QUESTIONS)


def test_the_weighted_mean_is_right():
    assert failures(federated(CASE)) == {}


def test_momentum_may_outlive_a_round():
    assert failures(federated(CASE, keeps_momentum=True)) == {}


@pytest.mark.parametrize(
    ("aggregated", "lost", "key", "words"),
    [
        (lambda m, s: np.mean(m, axis=0), {"weights"}, "unweighted", "0.500, 0.500; "),
        (
            lambda m, s: weighted(m, s[::-1]),
            {"weights"},
            "wrong_weights",
            "has the weights 0.190, 0.810",
        ),
        (lambda m, s: weighted(m, s) * 1.5, {"means"}, "weights_not_1", "add up to 1.5"),
        (lambda m, s: weighted(m, s) + START, {"means", "weights"}, "model_before_added", "plus 1"),
        (lambda m, s: m[0] * 64 / 79, ONE_CLIENT, "client_missing", "rank 2"),
        (lambda m, s: m[1], ONE_CLIENT, "client_missing", "rank 1"),
        (lambda m, s: START, {"means", "weights", "global_model_used"}, "unchanged", ""),
    ],
)
def test_a_wrong_mean_is_told_by_its_weights(aggregated, lost, key, words):
    failed = failures(federated(CASE, aggregated))
    assert set(failed) == lost
    with raises(f"global.{key}", f"After round 0.*{words}"):
        raise failed.get("means") or failed["weights"]


def test_an_array_that_is_not_averaged_is_named():
    def aggregated(models, sizes):
        mean = np.array(weighted(models, sizes))
        mean[-10:] = models[0][-10:] + 0.1
        return mean

    failed = failures(federated(CASE, aggregated))
    assert set(failed) == {"means"}
    with raises("global.parameters_not_averaged", r"fc3\.bias\[", parameters=("fc3.bias",)):
        raise failed["means"]


def test_a_model_that_is_not_sent_back_costs_where_rounds_begin():
    failed = failures(federated(CASE, sends_back=False))
    assert set(failed) == {"common_starts", "global_model_used"}
    with raises("round.global_model_unused"):
        raise failed["global_model_used"]
    with raises("round.starts_differ", "Ranks 1 and 2 began round 1", round=1, rank=2):
        raise failed["common_starts"]


@pytest.mark.parametrize(
    ("rows", "lost", "key", "facts"),
    [
        (
            lambda client, mine: mine[:60],
            "own_examples",
            "client.examples_left_out",
            {"rank": 1, "epoch": 0},
        ),
        (
            lambda client, mine: mine if client else np.concatenate([mine, mine]),
            "five_rounds",
            "rounds.wrong_number",
            {"rank": 1, "number": 10},
        ),
    ],
)
def test_a_wrong_local_epoch_is_told(rows, lost, key, facts):
    failed = failures(federated(CASE, rows=rows))
    assert {lost} <= set(failed) <= {lost, "weights"}
    with raises(key, **facts):
        raise failed[lost]


def test_another_model_than_the_last_costs_one_question():
    run = federated(CASE)
    run.outcome.results[0]["model"] = START + np.float32(1)
    failed = failures(run)
    assert set(failed) == {"model_kept"}
    with raises("global.not_kept"):
        raise failed["model_kept"]


def test_a_global_model_that_never_changes_is_told():
    failed = failures(federated(CASE, lambda models, sizes: START))
    with raises("round.global_model_unchanged"):
        raise failed["global_model_used"]


def test_one_round_shows_no_use_of_a_global_model():
    failed = failures(federated(CASE, num_rounds=1))
    assert set(failed) == {"five_rounds", "global_model_used"}
    with raises("round.only_one"):
        raise failed["global_model_used"]


def test_only_one_clients_model_is_told():
    failed = failures(federated(CASE, lambda models, sizes: models[1]))
    with raises("global.one_client", rank=2):
        raise failed["several_in_global_models"]


def test_less_than_half_of_a_part_is_told():
    """Half is enough, though some examples are left out."""
    failed = failures(federated(CASE, rows=lambda client, mine: np.sort(mine)[: len(mine) // 3]))
    with raises("split.most_left_out", rank=1):
        raise failed["half_of_parts"]
    half = failures(federated(CASE, rows=lambda client, mine: np.sort(mine)[: len(mine) // 2 + 1]))
    assert "own_examples" in half and "half_of_parts" not in half


def test_clients_that_are_alike_use_the_global_model():
    """The mean of equal models is each of them: nobody has kept its own."""
    case = Training("train", file="x.py", num_training=128, client_sizes=(64, 64))
    examples = np.flatnonzero(trained(case, [Rank() for _ in range(3)]).client_of == 0)
    failed = failures(federated(case, rows=lambda client, mine: examples))
    assert {"parts_differ", "own_examples"} <= set(failed)
    assert "global_model_used" not in failed
    with raises("split.same_part", ranks=(1, 2)):
        raise failed["parts_differ"]
