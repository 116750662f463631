"""Right training passes, rounding passes, and each usual mistake is told by its name."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from lenet_eyeriss import serial
from lenet_eyeriss.mistakes import wrong_divisor
from lenet_eyeriss.training_cases import SEVERAL_RANKS, Training, allreduce_cases, ring_cases
from lenet_eyeriss.training_checks import (
    assert_mean_to_rounding,
    assert_replicas_equal,
    assert_trained_as_one,
)

from grader.api import WrongAnswer
from grader.grading_plugin.case_evidence import EvidenceCollector
from grader.model.report import TestResult, Verdict

from ...judge.build import outcome
from .building import failing

CASE = Training("train_epochs", file="ring_allreduce.py", epochs=2, part_length=1)
NUM_RANKS = 3
WRONG = TestResult("test_a", "It is right.", Verdict.WRONG_ANSWER, 0, 1, "it is wrong")


class Digits:
    """Images of noise instead of digits: the oracle does not mind."""

    def mnist(self):
        random = np.random.default_rng(5)
        return SimpleNamespace(
            train_images=random.integers(0, 256, (40, 28, 28)).astype(np.uint8),
            train_labels=random.integers(0, 10, 40).astype(np.int32),
        )


def trained(synchronise, after_step=lambda rank, parameters: parameters):
    """Return the outcome of ranks in float32 that turn their gradients into others this way.

    synchronise: function of (all ranks' gradients, rank, epoch).
    """
    inputs = CASE.inputs(np.random.default_rng(6), NUM_RANKS, Digits())
    parameters = [given["start"].copy() for given in inputs]
    names = ("own", "averaged", "parameters")
    nothing = np.zeros((0, serial.NUM_PARAMETERS), np.float32)
    results = [{**{name: [] for name in names}, "returned": nothing, "problem": ""} for _ in inputs]
    for epoch in range(CASE.epochs):
        own = np.array(
            [
                serial.gradient(
                    held.astype(np.float64), given["images"][epoch], given["labels"][epoch]
                )
                for held, given in zip(parameters, inputs, strict=True)
            ]
        ).astype(np.float32)
        for rank, result in enumerate(results):
            averaged = np.asarray(synchronise(own, rank, epoch), dtype=np.float32)
            step = np.float32(inputs[rank]["learning_rate"]) * averaged
            parameters[rank] = after_step(rank, parameters[rank] - step)
            result["own"].append(own[rank])
            result["averaged"].append(averaged)
            result["parameters"].append(parameters[rank])
    for result in results:
        for name in ("own", "averaged", "parameters"):
            result[name] = np.array(result[name])
    return outcome(CASE, inputs, results)


def mean(own, rank, epoch):
    return own.mean(axis=0)


def test_every_rank_gets_examples_of_its_own_and_the_same_start() -> None:
    inputs = CASE.inputs(np.random.default_rng(6), NUM_RANKS, Digits())
    images = np.concatenate([given["images"] for given in inputs]).reshape(-1, 28, 28)
    assert images.dtype == np.uint8
    assert len(np.unique(images, axis=0)) == NUM_RANKS * CASE.epochs * CASE.part_length
    for given in inputs:
        np.testing.assert_array_equal(given["start"], inputs[0]["start"])
        assert given["labels"].dtype == np.int64


def test_the_sheets_setting_is_among_the_cases() -> None:
    assert SEVERAL_RANKS == [4, 2, 3, 8]
    for cases in (allreduce_cases, ring_cases):
        assert cases(4)[0].part_length * 4 == 100
        assert [len(cases(ranks)) for ranks in (1, 2, 3, 8)] == [1] * 4


@pytest.mark.parametrize(
    "rounded",
    [
        lambda own, rank, epoch: (own / NUM_RANKS).sum(axis=0),
        lambda own, rank, epoch: own.sum(axis=0) * np.float32(1 / NUM_RANKS),
        lambda own, rank, epoch: ((own[2] + own[0]) + own[1]) / np.float32(NUM_RANKS),
    ],
)
def test_any_order_of_adding_and_dividing_passes(rounded) -> None:
    found = trained(rounded)
    assert_trained_as_one(CASE, found)
    assert_mean_to_rounding(CASE, found)
    assert_replicas_equal(CASE, found)


def test_ranks_that_add_in_different_orders_drift_apart() -> None:
    found = trained(lambda own, rank, epoch: np.roll(own, rank, axis=0).cumsum(axis=0)[-1] / 3)
    assert_trained_as_one(CASE, found)
    assert_mean_to_rounding(CASE, found)
    with failing(WrongAnswer, "replicas.differ", "replicas.first_difference", epoch=1):
        assert_replicas_equal(CASE, found)


def test_half_precision_is_no_rounding() -> None:
    found = trained(lambda own, rank, epoch: own.astype(np.float16).mean(axis=0))
    with pytest.raises(WrongAnswer, match=r"float32.*the gradient of c1\.weight") as caught:
        assert_mean_to_rounding(CASE, found)
    keys = [each.key for each in caught.value.findings]
    assert keys == ["mean.inexact", "mean.inexact_element"]


NUMBERS = "training.parameters_differ"
MISTAKES = [
    ("mean.not_averaged", {"rank": 0}, lambda own, rank, epoch: own[rank]),
    (
        "mean.not_sent_back",
        {"rank": 1, "with_mean": (0,)},
        lambda own, rank, epoch: own[rank] if rank else own.mean(axis=0),
    ),
    ("mean.sum_not_divided", {"rank": 0}, lambda own, rank, epoch: own.sum(axis=0)),
    ("mean.divided_twice", {"rank": 0}, lambda own, rank, epoch: own.mean(axis=0) / NUM_RANKS),
    ("mean.wrong_divisor", {"divisor": 4.0}, lambda own, rank, epoch: own.sum(axis=0) / 4),
    ("mean.only_own_divided", {"rank": 0}, lambda own, rank, epoch: own[rank] / NUM_RANKS),
    (
        "mean.of_one_rank",
        {"rank": 1, "source": 0},
        lambda own, rank, epoch: own[0] if rank else own.mean(axis=0),
    ),
    (
        "mean.one_neighbour",
        {"side": "left"},
        lambda own, rank, epoch: (own[rank] + own[rank - 1]) / NUM_RANKS,
    ),
    (
        "mean.one_neighbour",
        {"side": "right"},
        lambda own, rank, epoch: (own[rank] + own[(rank + 1) % NUM_RANKS]) / 2,
    ),
    (
        "mean.rank_missing",
        {"rank": 1, "missing": 1},
        lambda own, rank, epoch: (own[0] + own[2]) / 2 if rank == 1 else own.mean(axis=0),
    ),
]


@pytest.mark.parametrize("key, facts, mistake", MISTAKES)
def test_a_usual_mistake_has_a_name(key: str, facts, mistake) -> None:
    found = trained(mistake)
    with failing(WrongAnswer, key, NUMBERS, **facts):
        assert_trained_as_one(CASE, found)


def test_two_mistakes_at_once_are_told_by_the_numbers() -> None:
    """A divisor of 4 may be that of 4 ranks, or of 2 that divide twice."""
    assert wrong_divisor(0, 2, 4.0).key == "mean.wrong_divisor"
    assert wrong_divisor(0, 4, 16.0).key == "mean.divided_twice"


def without_the_tail(own, rank, epoch):
    kept = own.mean(axis=0)
    kept[-10:] = own[rank, -10:]
    return kept


@pytest.mark.parametrize(
    "key, synchronise",
    [
        ("mean.some_left_out", without_the_tail),
        (
            "mean.some_wrong",
            lambda own, rank, epoch: np.append(own.mean(axis=0)[:-10], np.ones(10)),
        ),
    ],
)
def test_a_few_wrong_gradients_are_named(key: str, synchronise) -> None:
    told = r"of 61706 .*\(first output\.bias\[[0-9]\], last output\.bias\[9\]\)"
    with pytest.raises(WrongAnswer, match=told) as caught:
        assert_trained_as_one(CASE, trained(synchronise))
    assert [each.key for each in caught.value.findings] == [key, NUMBERS]


def test_stale_gradients_are_those_of_the_epoch_before() -> None:
    kept = []

    def stale(own, rank, epoch):
        kept.append(own.mean(axis=0))
        return kept[0]

    with failing(WrongAnswer, "mean.of_epoch_before", NUMBERS, "training.more_calls", epoch=2):
        assert_trained_as_one(CASE, trained(stale))


def test_parameters_that_differ_are_shown_under_their_names() -> None:
    """For each rank, the first of them beside what they should be."""
    found = trained(lambda own, rank, epoch: own[rank])
    with pytest.raises(WrongAnswer) as caught:
        assert_trained_as_one(CASE, found)
    told = EvidenceCollector({}, is_kept=True).with_failure(WRONG, caught.value).evidence
    assert told is not None
    assert [each.rank for each in told.differences] == list(range(NUM_RANKS))
    first = told.differences[0].elements[0]
    assert re.fullmatch(r"c1\.weight\[\d+, \d+, \d+, \d+\]", first.index)
    assert first.actual != first.expected


def test_parameters_that_the_call_changed_are_told_from_wrong_gradients() -> None:
    found = trained(mean, after_step=lambda rank, parameters: parameters + np.float32(0.001 * rank))
    with failing(WrongAnswer, "mean.parameters_changed", NUMBERS, rank=1):
        assert_trained_as_one(CASE, found)


def test_what_the_probe_says_comes_first() -> None:
    found = trained(mean)
    found.results[1]["problem"] = "c1.bias.grad is None after the call"
    for check in (assert_trained_as_one, assert_mean_to_rounding, assert_replicas_equal):
        with failing(WrongAnswer, "gradient.missing", rank=1, name="c1.bias"):
            check(CASE, found)


def test_an_epoch_that_is_missing_is_no_right_answer() -> None:
    found = trained(mean)
    for name in ("own", "averaged", "parameters"):
        found.results[2][name] = found.results[2][name][:1]
    with failing(WrongAnswer, "training.epochs_missing", rank=2, number=1, expected=2):
        assert_mean_to_rounding(CASE, found)
