"""Data-parallel steps: right ones hold, and each known mistake costs its own question alone."""

import numpy as np
import pytest
from federated import lenet
from federated.sgd_cases import StepChecks
from federated.slices import assert_epochs, assert_only, assert_slice_sizes, assert_whole_batches
from federated.training_cases import Training

from grader.judge.check_failures import WrongAnswer
from grader.oracles import packed, unpacked

from .runs import START, data_parallel

CASE = Training("train", file="x.py", num_training=200)
RANKS = 2
ALL = range(RANKS)
QUESTIONS = (
    "slice_sizes",
    "whole_batches",
    "epochs",
    "one_start",
    "summed",
    "divided",
    "steps_use_all",
    "every_parameter",
    "sgd",
    "one_model",
    "model_kept",
)


def failures(run):
    """Return what each question that does not hold says of a serverless training."""
    checks = StepChecks(has_server=False)
    found = {}
    for question in QUESTIONS:
        try:
            getattr(checks, question)(run.case, run.outcome)
        except WrongAnswer as error:
            found[question] = str(error)
    return found


def total(gradients):
    return np.sum(list(gradients.values()), axis=0)


def biases_alone(rank, gradients):
    arrays = unpacked(total(gradients) / 2, lenet.SHAPES)
    own = unpacked(gradients[rank], lenet.SHAPES)
    return packed({**arrays, "fc2.bias": own["fc2.bias"]}, lenet.SHAPES)


def test_the_mean_of_all_gradients_is_right():
    assert failures(data_parallel(CASE, RANKS)) == {}


@pytest.mark.parametrize(
    ("used", "message"),
    [
        (lambda rank, g: total(g), "1 x rank 0's . 1 x rank 1's mean.*0.5 x each. They are summed"),
        (lambda rank, g: 50 * total(g), "by the total number of examples, 100"),
        (lambda rank, g: total(g) / 100, "first multiply each by its rank's number of examples"),
        (lambda rank, g: total(g) / 4, "divided by the number of ranks twice"),
        (lambda rank, g: total(g) / 3, "each of the 2 ranks counts 1/2"),
    ],
)
def test_a_wrong_division_is_all_that_is_wrong(used, message):
    found = failures(data_parallel(CASE, RANKS, used))
    assert set(found) == {"divided"}
    with pytest.raises(WrongAnswer, match=message):
        raise WrongAnswer(found["divided"])


def test_a_gradient_that_is_missing_is_named():
    found = failures(data_parallel(CASE, RANKS, lambda rank, g: g[0] / 2))
    assert "the gradient of rank 1 is not in it" in found["summed"]


def test_uneven_parts_are_told():
    found = failures(data_parallel(CASE, RANKS, lambda rank, g: 0.3 * g[0] + 0.7 * g[1]))
    assert "it should use as much of each rank's gradient" in found["summed"]


def test_own_gradients_cost_what_reducing_pays():
    found = failures(data_parallel(CASE, RANKS, lambda rank, g: g[rank]))
    reduces = {"summed", "divided", "steps_use_all", "every_parameter", "one_model"}
    assert set(found) == reduces
    assert "rank 0 steps with its own gradient alone" in found["steps_use_all"]


def test_a_reduction_after_the_step_keeps_what_it_did():
    run = data_parallel(CASE, RANKS, lambda rank, g: g[rank], left=lambda rank, g: total(g) / 2)
    found = failures(run)
    assert set(found) == {"steps_use_all", "one_model"}
    assert "reduce before optimizer.step(), not after it" in found["steps_use_all"]


def test_a_missing_momentum_is_told():
    found = failures(data_parallel(CASE, RANKS, momentum=0.0))
    assert set(found) == {"sgd"}
    assert "step 1, rank 0: the step has no momentum of 0.9" in found["sgd"]


def test_another_momentum_is_told():
    found = failures(data_parallel(CASE, RANKS, momentum=0.5))
    assert "the step has 0.5 x the one before it in it" in found["sgd"]


def test_gradients_that_are_not_cleared_are_told():
    """Each is added to the reduced one of the step before, as torch does it."""
    kept = {}

    def used(rank, gradients):
        number, last = kept.get(rank, (0, 0))
        kept[rank] = (number + 1, total(gradients) / 2 + last)
        return kept[rank][1]

    found = failures(data_parallel(CASE, RANKS, used))
    assert set(found) == {"sgd"}
    assert "still contains the last one's gradient: call zero_grad() first" in found["sgd"]


def test_another_learning_rate_is_told_where_the_gradient_is_there():
    run = data_parallel(CASE, RANKS, rate=0.03, left=lambda rank, g: total(g) / 2)
    found = failures(run)
    assert set(found) == {"sgd"}
    assert "a learning rate of 0.03" in found["sgd"]


def test_adam_is_named():
    moments = {}

    def used(rank, gradients):
        gradient = total(gradients) / 2
        first, second, number = moments.get(rank, (0, 0, 0))
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        number += 1
        moments[rank] = (first, second, number)
        root = np.sqrt(second / (1 - 0.999**number)) + 1e-8
        return first / (1 - 0.9**number) / root / 10

    run = data_parallel(CASE, RANKS, used, momentum=0.0, left=lambda rank, g: total(g) / 2)
    found = failures(run)
    assert set(found) == {"sgd"}
    assert "these are Adam's steps, not SGD's" in found["sgd"]


def test_an_array_that_is_not_reduced_is_named():
    found = failures(data_parallel(CASE, RANKS, biases_alone))
    assert set(found) == {"every_parameter", "one_model"}
    assert "only fc2.bias went wrong: fc2.bias[" in found["every_parameter"]


def test_different_starts_are_told_apart_from_wrong_steps():
    found = failures(
        data_parallel(CASE, RANKS, start=lambda rank: START * np.float32(1 - rank / 9))
    )
    assert set(found) == {"one_start", "one_model"}
    assert "rank 1 starts with another model than rank 0" in found["one_start"]


def test_another_model_than_the_trained_one_costs_one_question():
    run = data_parallel(CASE, RANKS)
    for result in run.outcome.results:
        result["model"] = START
    assert set(failures(run)) == {"model_kept"}


@pytest.mark.parametrize(
    ("check", "rows", "message"),
    [
        (assert_slice_sizes, lambda rank, batch: batch, "gradient of 100 .* on 2 ranks is int"),
        (assert_whole_batches, lambda rank, batch: batch[:50], "ranks 0 and 1 computed gradients"),
        (
            assert_whole_batches,
            lambda rank, batch: np.repeat(batch[rank::4], 2),
            "example .* twice",
        ),
        (
            assert_whole_batches,
            lambda rank, batch: np.arange(rank * 50, rank * 50 + 50),
            "epoch 0: 100 of 200 examples were never trained on",
        ),
    ],
)
def test_a_wrong_share_is_told(check, rows, message):
    with pytest.raises(WrongAnswer, match=message):
        check(data_parallel(CASE, RANKS, rows=rows), ALL)


def test_a_rank_that_should_not_compute_is_named():
    with pytest.raises(WrongAnswer, match=r"rank 0 computed 6 gradients itself; the server leaves"):
        assert_only(data_parallel(CASE, RANKS), [1])


def test_epochs_are_counted():
    run = data_parallel(CASE, RANKS)
    for result in run.outcome.results:
        result["rows_per_batch"] = result["rows_per_batch"][:4]
        result["rows"] = result["rows"][:200]
    with pytest.raises(WrongAnswer, match=r"trained on 4 batches; 3 epochs of 200 .* are 6"):
        assert_epochs(run, ALL)
