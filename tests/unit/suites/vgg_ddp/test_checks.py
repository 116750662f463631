"""Trainings made by hand: right ones pass every check, each mistake fails its own."""

import numpy as np
import pytest
from vgg_ddp import checks, examples, rules, serial

from grader.judge.findings import RuleViolation, WrongAnswer

from .trainings import case, outcome, right

OF_VALUES = (
    checks.assert_steps_with_mean,
    checks.assert_steps_with_serial_mean,
    checks.assert_own_gradients,
    checks.assert_sgd_steps,
    checks.assert_replicas_equal,
    rules.assert_not_through_ddp,
    rules.assert_names_of_today,
)


@pytest.mark.parametrize("check", OF_VALUES)
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_right_training_passes(check, ranks):
    """On one rank and on two, over two steps."""
    check(case(2), outcome(case(2), right(ranks, num_steps=2)))


def wrong(name, change, rank=1, ranks=2):
    """Return an outcome in which one rank's result `name` is changed."""
    results = right(ranks)
    results[rank][name] = change(results[rank][name])
    return outcome(case(), results)


def flipped(values):
    return values[:, ::-1].copy()


def test_a_gradient_that_is_no_mean_is_told():
    with pytest.raises(WrongAnswer, match="rank 1 steps with a gradient that is zero"):
        checks.assert_steps_with_mean(case(), wrong("used", np.zeros_like))


def test_a_gradient_within_ddp_that_is_no_mean_is_told():
    results = right(2)
    results[1]["used"] = results[1]["local"]
    with pytest.raises(WrongAnswer, match="rank 1 steps with the gradient of its own batch alone"):
        checks.assert_steps_with_serial_mean(case(), outcome(case(), results))


def test_equal_batches_on_all_ranks_are_no_wrong_mean():
    """The mean is then every rank's own gradient."""
    results = right(1) * 2
    checks.assert_steps_with_serial_mean(case(), outcome(case(), results))
    checks.assert_steps_with_mean(case(), outcome(case(), results))


def test_a_wrong_gradient_of_the_batch_is_told():
    with pytest.raises(WrongAnswer, match=r"rank 1: what backward leaves.*differs from the serial"):
        checks.assert_own_gradients(case(), wrong("local", flipped))


def test_gradients_averaged_within_backward_break_the_rule():
    with pytest.raises(RuleViolation, match="rank 1 trains the model within Distributed"):
        checks.assert_own_gradients(case(), wrong("through_ddp", np.ones_like))


def test_a_model_outside_ddp_is_told():
    with pytest.raises(RuleViolation, match="rank 0 trains a model that is not within"):
        rules.assert_through_ddp(case(), outcome(case(), right(2)))


def test_a_forgotten_weight_decay_is_told():
    """The smallest mistake there is: a hundred-thousandth of a scale of 1."""
    with pytest.raises(
        WrongAnswer, match=r"after iteration 0, a step of SGD with .*: rank 1: .*expected"
    ):
        checks.assert_sgd_steps(case(), wrong("parameters", lambda values: values * (1 + 1e-5)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"momentum": 0.0}, "these are steps without momentum"),
        ({"weight_decay": 0.0}, "these are steps without weight decay"),
        ({"momentum": 0.0, "weight_decay": 0.0}, "without momentum and weight decay"),
    ],
)
def test_a_forgotten_option_of_the_optimizer_is_named(options, words):
    results = right(2, num_steps=3)
    for each in results:
        for step in range(3):
            reached = each["parameters"][:step]
            ends = serial.sgd(each["start"], reached, each["used"][: step + 1], **options)
            each["parameters"][step] = ends[-1]
    with pytest.raises(WrongAnswer, match=words):
        checks.assert_sgd_steps(case(3), outcome(case(3), results))


@pytest.mark.parametrize(
    ("name", "moment"), [("start", "before the first iteration"), ("parameters", "iteration 0")]
)
def test_replicas_that_differ_are_told(name, moment):
    with pytest.raises(WrongAnswer, match=f"{moment}, expected is what rank 0 holds: rank 1"):
        checks.assert_replicas_equal(case(), wrong(name, lambda values: values + 0.01))


def test_an_old_name_is_told():
    with pytest.raises(RuleViolation, match=r"rank 1 uses dist\.reduce_op.*dist\.ReduceOp"):
        rules.assert_names_of_today(case(), wrong("old_names", lambda _: "dist.reduce_op.SUM"))


def shared_out(monkeypatch, results, num_examples_a_step):
    monkeypatch.setattr("vgg_ddp.train_cases.BATCH_SIZE", num_examples_a_step)
    monkeypatch.setattr(examples, "BATCH_SIZE", num_examples_a_step)
    examples.assert_examples_shared_out(case(), outcome(case(), results))


def test_examples_on_one_rank_each_pass(monkeypatch):
    shared_out(monkeypatch, right(2), 12)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ([0, 7, 8, 9, 10, 11], "ranks 0 and 1 train on example 0, 2 times in all"),
        ([6, 6, 8, 9, 10, 11], "rank 1 trains on example 6, 2 times in all"),
        ([6, 7, 8, 9, 10, -1], "no rank trains on example 11; of 12 examples 1 are left out"),
    ],
)
def test_examples_that_are_not_shared_out_are_told(monkeypatch, seen, words):
    results = right(2)
    results[1]["examples"] = np.array(seen)
    with pytest.raises(WrongAnswer, match=words):
        shared_out(monkeypatch, results, 12)


def test_batches_of_another_size_are_told(monkeypatch):
    """Two of three examples make an epoch of twelve as well as one of six does."""
    short = right(2, num_steps=2, batch_size=3)
    monkeypatch.setattr("vgg_ddp.train_cases.BATCH_SIZE", 12)
    with pytest.raises(WrongAnswer, match="rank 0 trains on batches of 3 examples; 256 in all mak"):
        examples.assert_examples_shared_out(case(), outcome(case(), short))


@pytest.mark.parametrize("check", OF_VALUES[:5])
def test_a_rank_that_never_trained_is_told(check):
    with pytest.raises(WrongAnswer, match="rank 1 never trained"):
        check(case(), wrong("batch_sizes", lambda sizes: sizes[:0]))


def test_ranks_with_different_numbers_of_steps_are_told():
    results = [right(2, num_steps=2)[0], right(2)[1]]
    with pytest.raises(WrongAnswer, match="rank 0 takes 2 steps and rank 1 takes 1"):
        checks.assert_steps_with_mean(case(), outcome(case(), results))


def test_another_network_is_told():
    with pytest.raises(WrongAnswer, match=r"rank 1 trains 7 parameters; VGG11\(\) has [0-9]+"):
        checks.assert_steps_with_mean(case(), wrong("start", lambda values: values[:7]))


def test_another_loss_is_told():
    with pytest.raises(WrongAnswer, match="rank 1 has no cross entropy of its batch"):
        checks.assert_own_gradients(case(), wrong("labels", lambda labels: labels * 0 - 1))
