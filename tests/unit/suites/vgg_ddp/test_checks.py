"""Trainings made by hand: right ones pass every check, each mistake fails its own."""

from dataclasses import replace

import numpy as np
import pytest
from vgg_ddp import batches, checks, rules, serial

from grader.judge.check_failures import RuleViolation, WrongAnswer

from .trainings import case, outcome, right

OF_VALUES = (
    batches.assert_nothing_left,
    batches.assert_own_gradients,
    batches.assert_steps_use_all_batches,
    batches.assert_steps_with_mean_of_batches,
    checks.assert_replicas_equal,
    checks.assert_sgd_steps,
    checks.assert_steps_use_all,
    checks.assert_steps_with_mean,
    rules.assert_gradients_given,
    rules.assert_not_through_ddp,
)
OTHERS = (checks.assert_starts_equal, rules.assert_names_of_today)


@pytest.mark.parametrize("check", [*OF_VALUES, *OTHERS])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_right_training_passes(check, ranks):
    """On one rank and on two, over two steps."""
    check(case(), outcome(case(), right(ranks, num_steps=2)))


def wrong(name, change, rank=1, ranks=2):
    """Return an outcome in which one rank's result `name` is changed."""
    results = right(ranks)
    results[rank][name] = change(results[rank][name])
    return outcome(case(), results)


def flipped(values):
    return values[:, ::-1].copy()


@pytest.mark.parametrize("times", [2, 0.25])
def test_a_multiple_of_the_mean_has_all_gradients_in_it(times):
    """What is missing is the division alone, and that is said."""
    results = right(2)
    for each in results:
        each["used"] = each["used"] * np.float32(times)
    for use_all, with_mean in (
        (checks.assert_steps_use_all, checks.assert_steps_with_mean),
        (batches.assert_steps_use_all_batches, batches.assert_steps_with_mean_of_batches),
    ):
        use_all(case(), outcome(case(), results))
        with pytest.raises(
            WrongAnswer, match=f"rank 0 steps with {times} times the mean.*ranks, 2"
        ):
            with_mean(case(), outcome(case(), results))


def test_a_loss_that_is_divided_before_makes_the_sum_the_mean():
    """On every rank; where only one divides it, that is told."""
    results = right(2)
    for each in results:
        each["local"] = each["local"] / np.float32(2)
    for check in (checks.assert_steps_with_mean, batches.assert_own_gradients):
        check(case(), outcome(case(), results))
    results[1]["local"] = results[1]["local"] * 2
    with pytest.raises(WrongAnswer, match=r"rank 0: what backward leaves.*it is 0\.5 times that"):
        batches.assert_own_gradients(case(), outcome(case(), results))


def test_a_gradient_that_is_no_mean_is_told():
    with pytest.raises(WrongAnswer, match="rank 1 steps with a gradient that is zero"):
        checks.assert_steps_use_all(case(), wrong("used", np.zeros_like))


def test_parameters_that_are_left_out_of_the_mean_are_named():
    """The last two, as by a loop that ends too early."""
    results = right(2)
    for each in results:
        each["used"][0, -90:] = each["local"][0, -90:]
    with pytest.raises(
        WrongAnswer,
        match=r"rank 0 steps with the mean .* in 24 of 26 parameters only; in classifier.weight "
        r"and classifier.bias it is the gradient of its own batch",
    ):
        checks.assert_steps_use_all(case(), outcome(case(), results))


def test_a_wrong_element_is_named():
    """Where nothing larger is recognised."""
    results = right(2)
    results[1]["used"][0, 28] += 0.5
    with pytest.raises(WrongAnswer, match=r"rank 1: gradient of features\.1\.bias\[0\] is "):
        checks.assert_steps_use_all(case(), outcome(case(), results))


def test_a_gradient_within_ddp_that_is_no_mean_is_told():
    results = right(2)
    results[1]["used"] = results[1]["local"]
    with pytest.raises(WrongAnswer, match="rank 1 steps with the gradient of its own batch alone"):
        batches.assert_steps_use_all_batches(case(), outcome(case(), results))


def test_equal_batches_on_all_ranks_are_no_wrong_mean():
    """The mean is then every rank's own gradient."""
    results = right(1) * 2
    for check in (
        batches.assert_steps_use_all_batches,
        batches.assert_steps_with_mean_of_batches,
        checks.assert_steps_use_all,
        checks.assert_steps_with_mean,
    ):
        check(case(), outcome(case(), results))


def test_a_gradient_that_was_never_zeroed_costs_that_alone():
    """What backward adds to is taken away before the rest is judged."""
    results = right(2, num_steps=2)
    for each in results:
        each["used"][1] += each["used"][0]
        each["local"][1] += each["used"][0]
    seen = outcome(case(), results)
    batches.assert_steps_with_mean_of_batches(case(), seen)
    with pytest.raises(WrongAnswer, match=r"still contains that of iteration 0: call .*zero_grad"):
        batches.assert_nothing_left(case(), seen)
    with pytest.raises(WrongAnswer, match=r"rank 0: what backward leaves.*call .*zero_grad\(\)"):
        batches.assert_own_gradients(case(), seen)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"local": lambda rows: 6 * rows}, "it is 6 times that: is the loss the mean over"),
        ({"local": flipped, "in_training": np.zeros_like}, r"call model\.train\(\)"),
        ({"local": flipped, "through_ddp": np.ones_like}, "DistributedDataParallel has averaged"),
        ({"local": flipped}, "is the loss CrossEntropyLoss of"),
    ],
)
def test_the_reason_of_a_wrong_gradient_of_the_batch_is_told(change, words):
    results = right(2)
    for name, changed in change.items():
        results[1][name] = changed(results[1][name])
    with pytest.raises(WrongAnswer, match=f"rank 1: what backward leaves.*differs.*; .*{words}"):
        batches.assert_own_gradients(case(), outcome(case(), results))


def test_a_forgotten_weight_decay_is_told():
    """The smallest mistake there is: a hundred-thousandth of a scale of 1."""
    with pytest.raises(
        WrongAnswer, match=r"after iteration 0, a step of SGD with .*: rank 1: .*expected"
    ):
        checks.assert_sgd_steps(case(), wrong("parameters", lambda values: values * (1 + 1e-5)))


def stepped(**options):
    """Return an outcome of three steps by SGD with other options."""
    results, sgd = right(2, num_steps=3), replace(serial.OPTIMIZER, **options)
    for each in results:
        for step in range(3):
            reached = each["parameters"][:step]
            ends = serial.ends_of_steps(each["start"], reached, each["used"][: step + 1], sgd)
            each["parameters"][step] = ends[-1]
    return outcome(case(), results)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"momentum": 0.0}, r"these are steps without momentum\)"),
        ({"weight_decay": 0.0}, r"these are steps without weight decay\)"),
        ({"momentum": 0.0, "weight_decay": 0.0}, "without momentum and weight decay"),
        ({"learning_rate": 0.2}, r"with learning rate 0\.2\)"),
        ({"learning_rate": 0.01, "momentum": 0.5}, r"learning rate 0\.01 and momentum 0\.5\)"),
        ({"weight_decay": 5e-4}, r"with weight decay 0\.0005\)"),
        ({"momentum": 0.0, "weight_decay": 1e-2}, r"without momentum, with weight decay 0\.01\)"),
        ({"nesterov": True}, "Nesterov's momentum"),
    ],
)
def test_another_option_of_the_optimizer_is_named(options, words):
    with pytest.raises(WrongAnswer, match=words):
        checks.assert_sgd_steps(case(), stepped(**options))


def test_adams_steps_are_named():
    """Its first one moves every number by the learning rate."""
    results = right(2)
    for each in results:
        slope = each["used"][0]
        each["parameters"][0] = each["start"] - 0.001 * slope / (np.abs(slope) + 1e-8)
    with pytest.raises(WrongAnswer, match=r"moves by 0\.001: these are Adam's steps, not SGD's"):
        checks.assert_sgd_steps(case(), outcome(case(), results))


def test_parameters_that_do_not_move_are_told():
    results = right(2)
    for each in results:
        each["parameters"][0] = each["start"]
    with pytest.raises(WrongAnswer, match="no parameter changes"):
        checks.assert_sgd_steps(case(), outcome(case(), results))


@pytest.mark.parametrize(
    ("check", "name", "moment"),
    [
        (checks.assert_starts_equal, "start", "before the first step"),
        (checks.assert_replicas_equal, "parameters", "after iteration 0"),
    ],
)
def test_replicas_that_differ_are_told(check, name, moment):
    with pytest.raises(WrongAnswer, match=f"{moment}, expected is what rank 0 holds: rank 1"):
        check(case(), wrong(name, lambda values: values + 0.01))


def test_what_was_seen_is_told_where_no_training_was():
    """Never what a program has not done: only what was seen of it is known."""
    results = right(2)
    results[1] |= {"batch_sizes": np.zeros(0, dtype=int), "counts": np.array([3, 2, 0])}
    for check in (*OF_VALUES, checks.assert_starts_equal):
        with pytest.raises(
            WrongAnswer,
            match=r"on rank 1 no training was seen up to optimizer\.step\(\): .* 3 batches .*, "
            r"backward ran 2 times, .* stepped 0 times",
        ):
            check(case(), outcome(case(), results))


def test_ranks_with_different_numbers_of_steps_are_told():
    results = [right(2, num_steps=2)[0], right(2)[1]]
    with pytest.raises(WrongAnswer, match="rank 0 takes 2 steps and rank 1 takes 1"):
        checks.assert_steps_with_mean(case(), outcome(case(), results))


def test_another_network_is_told():
    for check in (checks.assert_steps_with_mean, checks.assert_starts_equal):
        with pytest.raises(WrongAnswer, match=r"rank 1 trains 7 parameters; VGG11\(\) has [0-9]+"):
            check(case(), wrong("start", lambda values: values[:7]))


def test_images_of_unknown_origin_are_told():
    with pytest.raises(WrongAnswer, match=r"rank 1: some images .* could not be told to be of the"):
        batches.assert_own_gradients(case(), wrong("examples", lambda values: values * 0 - 1))


def test_a_rule_is_about_the_model_that_is_trained():
    """Within DistributedDataParallel, or not."""
    with pytest.raises(RuleViolation, match="rank 1 trains the model within Distributed"):
        rules.assert_not_through_ddp(case(), wrong("through_ddp", np.ones_like))
    with pytest.raises(RuleViolation, match="rank 0 trains a model that is not within"):
        rules.assert_through_ddp(case(), outcome(case(), right(2)))
    with pytest.raises(RuleViolation, match=r"rank 0 trains a model that no .* was made of"):
        rules.assert_wrapped(case(), outcome(case(), right(2)))


def test_a_reducer_that_sends_less_than_the_gradient_is_told():
    """A model within DistributedDataParallel that is told not to synchronise."""
    results = right(2)
    for each in results:
        each["through_ddp"] += 1
        each["num_reduced"] += 2453
    rules.assert_through_ddp(case(), outcome(case(), results))
    results[1]["num_reduced"] -= 2000
    with pytest.raises(RuleViolation, match=r"rank 1: in iteration 0 .* reduces 453 numbers"):
        rules.assert_through_ddp(case(), outcome(case(), results))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0, 0, 0, 0, 0], "rank 1 gives 0 numbers to all_reduce after backward; its gradient has"),
        ([2452, 2452, 1, 2, 3], "rank 1 gives 2452 numbers to all_reduce"),
        ([0, 2453, 1, 1, 1], "but they are not those of its gradient"),
        ([0, 2453, 0, 0, 0], "but they are not those of its gradient"),
        ([0, 2453, np.nan, np.nan, np.nan], "but they are not those of its gradient"),
    ],
)
def test_what_is_given_away_has_to_be_the_gradient(given, words):
    with pytest.raises(WrongAnswer, match=words):
        rules.assert_gradients_given(case(), wrong("given", lambda rows: np.array([given])))


@pytest.mark.parametrize("given", [[10, 10, 1, 1, 1], [0, 2453, 1, 2, 3], [2400, 2400, 1, 2, 3]])
def test_a_part_of_the_gradient_is_something(given):
    """One parameter's, many, or a whole that has been averaged already."""
    rules.assert_something_given(case(), wrong("given", lambda rows: np.array([given])))


@pytest.mark.parametrize(
    "given", [[0, 0, 0, 0, 0], [0, 1, 5, 5, 5], [0, 2453, 1, 1, 1], [0, 2453, 0, 0, 0]]
)
def test_something_else_is_no_part_of_the_gradient(given):
    """Nothing, one number, ones or zeros instead."""
    with pytest.raises(WrongAnswer, match=r"rank 1 gives [0-9]+ numbers to all_reduce"):
        rules.assert_something_given(case(), wrong("given", lambda rows: np.array([given])))


def test_a_gradient_may_be_scaled_and_sent_with_more():
    """Divided before, and with a loss at its end."""
    rules.assert_gradients_given(
        case(), wrong("given", lambda rows: rows / (1, 1, 4, 4, 4) + (0, 1, 0, 0, 0))
    )


def test_an_old_name_is_told():
    with pytest.raises(RuleViolation, match=r"rank 1 uses dist\.reduce_op.*dist\.ReduceOp"):
        rules.assert_names_of_today(case(), wrong("old_names", lambda _: "dist.reduce_op.SUM"))
