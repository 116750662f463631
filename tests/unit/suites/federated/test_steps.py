"""Data-parallel steps: right ones hold, and each known mistake costs its own question alone."""

import numpy as np
import pytest
from federated import lenet
from federated.sgd_cases import StepChecks
from federated.slices import assert_epochs, assert_only, assert_slice_sizes, assert_whole_batches
from federated.training_cases import Training

from grader.oracles import packed, unpacked

from .runs import START, data_parallel, failures_of, raises

CASE = Training("train", file="x.py", num_training=200)
RANKS = 2
ALL = range(RANKS)
SIZES, WHOLE = assert_slice_sizes, assert_whole_batches
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
    """Return the failure of each question that does not hold for a serverless training."""
    return failures_of(StepChecks(has_server=False), run, QUESTIONS)


def total(gradients):
    return np.sum(list(gradients.values()), axis=0)


def biases_alone(rank, gradients):
    arrays = unpacked(total(gradients) / 2, lenet.SHAPES)
    own = unpacked(gradients[rank], lenet.SHAPES)
    return packed({**arrays, "fc2.bias": own["fc2.bias"]}, lenet.SHAPES)


def test_the_mean_of_all_gradients_is_right():
    assert failures(data_parallel(CASE, RANKS)) == {}


@pytest.mark.parametrize(
    ("used", "key", "share"),
    [
        (lambda rank, g: total(g), "summed_not_divided", 1),
        (lambda rank, g: 50 * total(g), "not_divided_by_examples", 50),
        (lambda rank, g: total(g) / 100, "not_times_examples", 0.01),
        (lambda rank, g: total(g) / 4, "divided_twice", 0.25),
        (lambda rank, g: total(g) / 3, "wrong_divisor", 0.333),
    ],
)
def test_a_wrong_division_is_all_that_is_wrong(used, key, share):
    failed = failures(data_parallel(CASE, RANKS, used))
    assert set(failed) == {"divided"}
    words = f"{share} x each rank's mean .*0.5 x each"
    with raises(f"gradient.{key}", words, rank=0):
        raise failed["divided"]
    assert failed["divided"].findings[1].facts["shares"] == (share, share)


def test_a_gradient_that_is_missing_is_named():
    failed = failures(data_parallel(CASE, RANKS, lambda rank, g: g[0] / 2))
    with raises("step.of_own_gradient", rank=0):
        raise failed["summed"]
    failed = failures(data_parallel(CASE, RANKS, lambda rank, g: g[1] / 2))
    with raises("gradient.rank_missing", rank=0, missing=(0,)):
        raise failed["summed"]


def test_a_step_without_any_gradient_is_told():
    failed = failures(data_parallel(CASE, RANKS, lambda rank, g: 0 * g[0]))
    with raises("step.without_gradient", rank=0):
        raise failed["summed"]


def test_uneven_parts_are_told():
    failed = failures(data_parallel(CASE, RANKS, lambda rank, g: 0.3 * g[0] + 0.7 * g[1]))
    with raises("gradient.uneven", "0.3 x rank 0's . 0.7 x rank 1's mean gradient"):
        raise failed["summed"]


def test_own_gradients_cost_what_reducing_pays():
    failed = failures(data_parallel(CASE, RANKS, lambda rank, g: g[rank]))
    reduces = {"summed", "divided", "steps_use_all", "every_parameter", "one_model"}
    assert set(failed) == reduces
    with raises("step.of_own_gradient", rank=0):
        raise failed["steps_use_all"]


@pytest.mark.parametrize(
    ("used", "lost", "words"),
    [
        (lambda rank, g: g[rank], {"steps_use_all", "one_model"}, "used only its own gradient; "),
        (lambda rank, g: 0 * g[rank], {"steps_use_all", "model_kept"}, "used no rank's gradient; "),
    ],
)
def test_a_reduction_after_the_step_keeps_what_it_did(used, lost, words):
    failed = failures(data_parallel(CASE, RANKS, used, left=lambda rank, g: total(g) / 2))
    assert set(failed) == lost
    with raises("step.before_reduction", words):
        raise failed["steps_use_all"]


def test_a_missing_momentum_is_told():
    failed = failures(data_parallel(CASE, RANKS, momentum=0.0))
    assert set(failed) == {"sgd"}
    with raises("sgd.no_momentum", "In step 1, rank 0 .*0.9"):
        raise failed["sgd"]


def test_another_momentum_is_told():
    failed = failures(data_parallel(CASE, RANKS, momentum=0.5))
    with raises("sgd.other_momentum", momentum=0.5):
        raise failed["sgd"]


def test_gradients_that_are_not_cleared_are_told():
    """Each is added to the reduced one of the step before, as torch does it."""
    kept = {}

    def used(rank, gradients):
        number, last = kept.get(rank, (0, 0))
        kept[rank] = (number + 1, total(gradients) / 2 + last)
        return kept[rank][1]

    failed = failures(data_parallel(CASE, RANKS, used))
    assert set(failed) == {"sgd"}
    with raises("sgd.gradient_not_cleared"):
        raise failed["sgd"]


def test_another_learning_rate_is_told_where_the_gradient_is_there():
    run = data_parallel(CASE, RANKS, rate=0.03, left=lambda rank, g: total(g) / 2)
    failed = failures(run)
    assert set(failed) == {"sgd"}
    with raises("sgd.other_learning_rate", learning_rate=0.03, factor=3.0):
        raise failed["sgd"]


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
    failed = failures(run)
    assert set(failed) == {"sgd"}
    with raises("sgd.is_adam"):
        raise failed["sgd"]


def test_an_array_that_is_not_reduced_is_named():
    failed = failures(data_parallel(CASE, RANKS, biases_alone))
    assert set(failed) == {"every_parameter", "one_model"}
    with raises("gradient.parameters_not_reduced", r"fc2\.bias\[", parameters=("fc2.bias",)):
        raise failed["every_parameter"]


def test_different_starts_are_told_apart_from_wrong_steps():
    failed = failures(
        data_parallel(CASE, RANKS, start=lambda rank: START * np.float32(1 - rank / 9))
    )
    assert set(failed) == {"one_start", "one_model"}
    with raises("start.ranks_differ", "Ranks 0 and 1 started", rank=1):
        raise failed["one_start"]


def test_another_model_than_the_trained_one_costs_one_question():
    run = data_parallel(CASE, RANKS)
    for result in run.outcome.results:
        result["model"] = START
    failed = failures(run)
    assert set(failed) == {"model_kept"}
    with raises("model.not_trained", rank=0):
        raise failed["model_kept"]


@pytest.mark.parametrize(
    ("check", "rows", "key", "facts"),
    [
        (SIZES, lambda rank, batch: batch[:40], "wrong_size", {"num_examples": 40, "expected": 50}),
        (SIZES, lambda rank, batch: batch, "whole_batch", {"rank": 0}),
        (WHOLE, lambda rank, batch: batch[:50], "same_on_two_ranks", {"ranks": (0, 1)}),
        (WHOLE, lambda rank, batch: batch[rank : rank + 50], "shared_example", {"ranks": (0, 1)}),
        (WHOLE, lambda rank, batch: np.repeat(batch[rank::4], 2), "example_twice", {"ranks": (0,)}),
        (WHOLE, lambda rank, _: np.arange(50) + rank * 50, "examples_left_out", {"number": 100}),
    ],
)
def test_a_wrong_share_is_told(check, rows, key, facts):
    with raises(f"slice.{key}", **facts):
        check(data_parallel(CASE, RANKS, rows=rows), ALL)


def test_a_slice_for_the_server_is_told():
    """Of 3 ranks two are workers, and each has a third of the batch."""
    run = data_parallel(CASE, 3)
    with raises("slice.one_for_the_server", r"33 examples.* on 2 workers .* = 50", num_slices=3):
        assert_slice_sizes(run, [1, 2])


def test_a_rank_that_should_not_compute_is_named():
    with raises("server.computes_gradients", rank=0, number=6):
        assert_only(data_parallel(CASE, RANKS), [1])


def test_epochs_are_counted():
    run = data_parallel(CASE, RANKS)
    for result in run.outcome.results:
        result["rows_per_batch"] = result["rows_per_batch"][:4]
        result["rows"] = result["rows"][:200]
    with raises("epochs.wrong_number", num_batches=4, expected=6):
        assert_epochs(run, ALL)
