"""Trainings made by hand: right ones pass every check, each mistake fails its own."""

import re
from dataclasses import replace

import numpy as np
import pytest
from vgg_ddp import batches, checks, exchange, partial_means, rules, serial

from grader.judge.check_failures import RuleViolation

from .trainings import case, outcome, refused, right

OF_VALUES = (
    batches.assert_nothing_left,
    batches.assert_own_gradients,
    batches.assert_steps_use_all_batches,
    batches.assert_steps_with_mean_of_batches,
    checks.assert_replicas_equal,
    checks.assert_sgd_steps,
    checks.assert_steps_use_all,
    checks.assert_steps_with_mean,
    exchange.assert_gradients_given,
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
        key = "step.sum_not_divided" if times == 2 else "step.wrong_factor"
        facts = {"rank": 0, "factor": times, "num_ranks": 2}
        refused(with_mean, outcome(case(), results), key, **facts)


def test_a_loss_that_is_divided_before_makes_the_sum_the_mean():
    """On every rank; where only one divides it, that is told."""
    results = right(2)
    for each in results:
        each["local"] = each["local"] / np.float32(2)
    for check in (checks.assert_steps_with_mean, batches.assert_own_gradients):
        check(case(), outcome(case(), results))
    results[1]["local"] = results[1]["local"] * 2
    seen = outcome(case(), results)
    refused(batches.assert_own_gradients, seen, "gradient.scaled", rank=0, factor=0.5)


def test_a_gradient_that_is_no_mean_is_told():
    seen = wrong("used", np.zeros_like)
    refused(checks.assert_steps_use_all, seen, "step.zero_gradient", rank=1)


def test_parameters_that_are_left_out_of_the_mean_are_named():
    """The last two, as by a loop that ends too early."""
    results = right(2)
    for each in results:
        each["used"][0, -90:] = each["local"][0, -90:]
    seen, left_out = outcome(case(), results), ("classifier.weight", "classifier.bias")
    facts = {"rank": 0, "averaged": 24, "left_out": left_out}
    error = refused(checks.assert_steps_use_all, seen, "step.parameters_left_out", **facts)
    assert "only 24 of 26 parameters" in error.findings[0].text
    assert "for classifier.weight and classifier.bias." in error.findings[0].text


def test_a_loss_that_is_nearly_the_right_one_is_told_by_the_last_layer():
    """Its gradient is a little shorter there; elsewhere, rounding may change as much."""
    for last, key in ((0.97, "gradient.other_loss"), (0.99, "")):
        results = right(2)
        for each in results:
            for name in ("local", "used"):
                each[name][0, -90:] *= np.float32(last)
        seen = outcome(case(), results)
        for check in (batches.assert_own_gradients, batches.assert_steps_with_mean_of_batches):
            if key:
                refused(check, seen, key, rank=0)
            else:
                check(case(), seen)
        assert batches.has_other_loss(case(), seen) == bool(key)


def test_a_mean_of_half_the_numbers_is_told_from_one_of_fewer():
    """Numbers that are the mean already tell nothing."""
    check, results = partial_means.assert_steps_use_mean_of_part, right(2)
    half = results[0]["used"].shape[1] // 2
    for each in results:
        each["used"][0, half:] = each["local"][0, half:]
    check(case(), outcome(case(), results))
    for each in results:
        each["used"][0, 90:] = each["local"][0, 90:]
    refused(check, outcome(case(), results), "step.few_numbers_averaged", rank=0)


def test_a_mean_of_half_the_numbers_in_two_weights_is_no_half():
    """The last two convolutions have half of all numbers."""
    check, results = partial_means.assert_steps_use_mean_of_part, right(2)
    for each in results:
        used = serial.unpacked(each["used"][0], case().first_channels)
        local = serial.unpacked(each["local"][0], case().first_channels)
        for name in [*used]:
            if name not in ("features.22.weight", "features.25.weight"):
                used[name] = local[name]
        each["used"][0] = np.concatenate([used[name].ravel() for name in used])
    refused(check, outcome(case(), results), "step.few_weights_averaged", rank=0)


def test_a_wrong_element_is_named():
    """Where nothing larger is recognised."""
    results = right(2)
    results[1]["used"][0, 28] += 0.5
    seen = outcome(case(), results)
    error = refused(checks.assert_steps_use_all, seen, "step.not_the_mean", rank=1)
    assert error.differences[0].name == "gradient of features.1.bias"
    assert error.differences[0].elements[0].index == "[0]"


def test_a_gradient_within_ddp_that_is_no_mean_is_told():
    results = right(2)
    results[1]["used"] = results[1]["local"]
    seen = outcome(case(), results)
    refused(batches.assert_steps_use_all_batches, seen, "step.own_gradient", rank=1)


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
    for check in (batches.assert_nothing_left, batches.assert_own_gradients):
        error = refused(check, seen, "gradient.not_zeroed", rank=0, iteration=1)
        assert "zero_grad()" in error.findings[0].help


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        (
            {"local": lambda rows: 6 * rows},
            "gradient.scaled",
            "computed 6 times .* is the loss the mean",
        ),
        (
            {"local": flipped, "in_training": np.zeros_like},
            "gradient.in_evaluation_mode",
            r"model\.train\(\)",
        ),
        (
            {"local": flipped, "through_ddp": np.ones_like},
            "gradient.averaged_in_backward",
            "DistributedDataParallel averaged rank 1's gradients",
        ),
        ({"local": flipped}, "gradient.not_of_the_batch", "is the loss CrossEntropyLoss of"),
    ],
)
def test_the_reason_of_a_wrong_gradient_of_the_batch_is_told(change, key, words):
    results = right(2)
    for name, changed in change.items():
        results[1][name] = changed(results[1][name])
    error = refused(batches.assert_own_gradients, outcome(case(), results), key, rank=1)
    assert re.search(words, str(error.findings[0]))
    assert error.findings[1].key == "gradient.differs"


def test_gradients_that_are_averaged_too_early_are_told():
    """As by hooks, without DistributedDataParallel."""
    results = right(2)
    for each in results:
        each["local"] = each["used"]
    seen = outcome(case(), results)
    error = refused(batches.assert_own_gradients, seen, "gradient.averaged_in_backward", rank=0)
    assert "DistributedDataParallel" not in str(error)


def test_a_forgotten_weight_decay_is_told():
    """The smallest mistake there is: a hundred-thousandth of a scale of 1."""
    seen = wrong("parameters", lambda values: values * (1 + 1e-5))
    error = refused(checks.assert_sgd_steps, seen, "sgd.other_options", rank=1)
    assert "after iteration 0: rank 1: " in error.findings[1].text
    assert "learning rate 0.1, momentum 0.9, and weight decay 1e-4" in error.findings[0].help


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
        ({"momentum": 0.0}, "used SGD without momentum."),
        ({"weight_decay": 0.0}, "used SGD without weight decay."),
        ({"momentum": 0.0, "weight_decay": 0.0}, "without momentum and weight decay."),
        ({"learning_rate": 0.2}, "with learning rate 0.2."),
        ({"learning_rate": 0.01, "momentum": 0.5}, "learning rate 0.01 and momentum 0.5."),
        ({"weight_decay": 5e-4}, "with weight decay 0.0005."),
        ({"momentum": 0.0, "weight_decay": 1e-2}, "without momentum, with weight decay 0.01."),
        ({"nesterov": True}, "with Nesterov momentum."),
    ],
)
def test_another_option_of_the_optimizer_is_named(options, words):
    named = tuple(f"{name}={value:g}" for name, value in options.items())
    seen = stepped(**options)
    error = refused(checks.assert_sgd_steps, seen, "sgd.other_options", rank=0, options=named)
    assert error.findings[0].text.endswith(words)


def test_adams_steps_are_named():
    """Its first one moves every number by the learning rate."""
    results = right(2)
    for each in results:
        slope = each["used"][0]
        each["parameters"][0] = each["start"] - 0.001 * slope / (np.abs(slope) + 1e-8)
    error = refused(checks.assert_sgd_steps, outcome(case(), results), "sgd.steps_of_adam")
    assert "changed by about 0.001" in error.findings[0].text


def test_parameters_that_do_not_move_are_told():
    results = right(2)
    for each in results:
        each["parameters"][0] = each["start"]
    refused(checks.assert_sgd_steps, outcome(case(), results), "sgd.parameters_unchanged")


def test_steps_of_no_known_optimizer_are_told():
    seen = wrong("parameters", lambda values: values + np.arange(values.shape[1]) % 7)
    refused(checks.assert_sgd_steps, seen, "sgd.another_step", rank=1)


@pytest.mark.parametrize(
    ("check", "name", "key"),
    [
        (checks.assert_starts_equal, "start", "replicas.differ_at_start"),
        (checks.assert_replicas_equal, "parameters", "replicas.differ_after_step"),
    ],
)
def test_replicas_that_differ_are_told(check, name, key):
    error = refused(check, wrong(name, lambda values: values + 0.01), key, rank=1)
    assert error.findings[0].facts.get("iteration", 0) == 0
    assert error.differences[0].rank == 1


def test_what_was_seen_is_told_where_no_training_was():
    """Never what a program has not done: only what was seen of it is known."""
    results = right(2)
    results[1] |= {"batch_sizes": np.zeros(0, dtype=int), "counts": np.array([3, 2, 0])}
    for check in (*OF_VALUES, checks.assert_starts_equal):
        facts = {"rank": 1, "up_to": "optimizer.step()"}
        error = refused(check, outcome(case(), results), "training.not_seen", **facts)
        assert error.findings[1].key == "training.seen_instead"
        assert error.findings[1].facts == {"forwards": 3, "backwards": 2, "steps": 0}


def test_ranks_with_different_numbers_of_steps_are_told():
    seen = outcome(case(), [right(2, num_steps=2)[0], right(2)[1]])
    check = checks.assert_steps_with_mean
    refused(check, seen, "training.unequal_steps", rank=1, steps=(2, 1))


def test_another_network_is_told():
    seen = wrong("start", lambda values: values[:7])
    for check in (checks.assert_steps_with_mean, checks.assert_starts_equal):
        facts = {"rank": 1, "parameters": 7, "expected": 2453}
        refused(check, seen, "training.other_network", **facts)


def test_images_of_unknown_origin_are_told():
    seen = wrong("examples", lambda values: values * 0 - 1)
    refused(batches.assert_own_gradients, seen, "training.unknown_images", ranks=(1,))


def test_a_rule_is_about_the_model_that_is_trained():
    """Within DistributedDataParallel, or not."""
    plain, wrapped = outcome(case(), right(2)), wrong("through_ddp", np.ones_like)
    for check, seen, key, rank in (
        (rules.assert_not_through_ddp, wrapped, "ddp.not_in_this_part", 1),
        (rules.assert_through_ddp, plain, "ddp.not_called", 0),
        (rules.assert_wrapped, plain, "ddp.not_wrapped", 0),
    ):
        assert isinstance(refused(check, seen, key, rank=rank), RuleViolation)
    error = refused(rules.assert_plain, wrapped, "ddp.not_in_this_part", rank=1)
    assert not isinstance(error, RuleViolation)


def test_a_reducer_that_sends_less_than_the_gradient_is_told():
    """A model within DistributedDataParallel that is told not to synchronise."""
    results = right(2)
    for each in results:
        each["through_ddp"] += 1
        each["num_reduced"] += 2453
    rules.assert_through_ddp(case(), outcome(case(), results))
    results[1]["num_reduced"] -= 2000
    facts = {"rank": 1, "iteration": 0, "numbers": 453}
    refused(rules.assert_through_ddp, outcome(case(), results), "ddp.does_not_reduce", **facts)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ([0, 0, 0, 0, 0], "exchange.gradient_incomplete"),
        ([2452, 2452, 1, 2, 3], "exchange.gradient_incomplete"),
        ([0, 2453, 1, 1, 1], "exchange.not_the_gradient"),
        ([0, 2453, 0, 0, 0], "exchange.not_the_gradient"),
        ([0, 2453, np.nan, np.nan, np.nan], "exchange.not_the_gradient"),
    ],
)
def test_what_is_given_away_has_to_be_the_gradient(given, key):
    seen = wrong("given", lambda rows: np.array([given]))
    refused(exchange.assert_gradients_given, seen, key, rank=1, numbers=given[1])


@pytest.mark.parametrize("given", [[10, 10, 1, 1, 1], [0, 2453, 1, 2, 3], [2400, 2400, 1, 2, 3]])
def test_a_part_of_the_gradient_is_something(given):
    """One parameter's, many, or a whole that has been averaged already."""
    exchange.assert_something_given(case(), wrong("given", lambda rows: np.array([given])))


@pytest.mark.parametrize(
    "given", [[0, 0, 0, 0, 0], [0, 1, 5, 5, 5], [0, 2453, 1, 1, 1], [0, 2453, 0, 0, 0]]
)
def test_something_else_is_no_part_of_the_gradient(given):
    """Nothing, one number, ones or zeros instead."""
    seen = wrong("given", lambda rows: np.array([given]))
    whole = given[1] == 2453
    key = "exchange.not_the_gradient" if whole else "exchange.gradient_incomplete"
    error = refused(exchange.assert_something_given, seen, key, rank=1, numbers=given[1])
    plural = "" if given[1] == 1 else "s"
    assert f"passed {given[1]} number{plural} to all_reduce" in error.findings[0].text


def test_a_gradient_may_be_scaled_and_sent_with_more():
    """Divided before, and with a loss at its end."""
    exchange.assert_gradients_given(
        case(), wrong("given", lambda rows: rows / (1, 1, 4, 4, 4) + (0, 1, 0, 0, 0))
    )


def test_an_old_name_is_told():
    seen = wrong("old_names", lambda _: "dist.reduce_op.SUM at main.py:3")
    facts = {"rank": 1, "name": "dist.reduce_op.SUM", "place": "main.py:3"}
    error = refused(rules.assert_names_of_today, seen, "names.reduce_op", **facts)
    assert isinstance(error, RuleViolation)
    assert "dist.ReduceOp" in error.findings[0].help
