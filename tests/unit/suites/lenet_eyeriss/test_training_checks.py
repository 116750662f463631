"""Right training passes, rounding passes, and each usual mistake is told by its name."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from lenet_eyeriss import serial
from lenet_eyeriss.sum_checks import (
    NEARLY_ALL,
    assert_chunk_complete,
    assert_complete,
    assert_divided,
    assert_goes_all_the_way_round,
    assert_nearly_all_in_every_epoch,
    complete_ranks,
)
from lenet_eyeriss.training_cases import SEVERAL_RANKS, Training, allreduce_cases, ring_cases
from lenet_eyeriss.training_checks import (
    assert_mean_to_rounding,
    assert_replicas_equal,
    assert_trained_as_one,
)

from grader.api import WrongAnswer
from grader.model import TestResult, Verdict
from grader.suite.case_evidence import EvidenceCollector

from .building import outcome

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


def nearly_complete(case, found):
    assert_complete(case, found, at_least=NEARLY_ALL, on_every_rank=False)


SUM_CHECKS = (
    nearly_complete,
    assert_chunk_complete,
    assert_nearly_all_in_every_epoch,
    assert_goes_all_the_way_round,
    assert_divided,
)


def test_the_mean_passes_every_check() -> None:
    found = trained(mean)
    for check in SUM_CHECKS:
        check(CASE, found)
    assert complete_ranks(found) == {0, 1, 2}
    assert_trained_as_one(CASE, found)
    assert_mean_to_rounding(CASE, found)
    assert_replicas_equal(CASE, found)


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
    with pytest.raises(WrongAnswer, match=r"on rank 0 and .* on rank [12]"):
        assert_replicas_equal(CASE, found)


def test_half_precision_is_no_rounding() -> None:
    found = trained(lambda own, rank, epoch: own.astype(np.float16).mean(axis=0))
    with pytest.raises(WrongAnswer, match=r"the gradient of c1\.weight.*rounding in float32"):
        assert_mean_to_rounding(CASE, found)


MISTAKES = {
    "nothing was averaged": lambda own, rank, epoch: own[rank],
    "the sum over all ranks; divide": lambda own, rank, epoch: own.sum(axis=0),
    "the mean divided by the number of ranks once more": (
        lambda own, rank, epoch: own.mean(axis=0) / NUM_RANKS
    ),
    "this rank's own divided": lambda own, rank, epoch: own[rank] / NUM_RANKS,
    "rank 0's own; the other ranks' are missing": (
        lambda own, rank, epoch: own[0] if rank else own.mean(axis=0)
    ),
    "only those of the left neighbour": (
        lambda own, rank, epoch: (own[rank] + own[rank - 1]) / NUM_RANKS
    ),
    "only those of the right neighbour": (
        lambda own, rank, epoch: (own[rank] + own[(rank + 1) % NUM_RANKS]) / 2
    ),
    "rank 1's own are missing from the sum": lambda own, rank, epoch: (
        (own[0] + own[2]) / 2 if rank == 1 else own.mean(axis=0)
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_usual_mistake_has_a_name(mistake: str) -> None:
    found = trained(MISTAKES[mistake])
    with pytest.raises(WrongAnswer, match=mistake):
        assert_trained_as_one(CASE, found)


def test_a_dropped_tail_is_named_by_its_elements() -> None:
    def all_but_the_tail(own, rank, epoch):
        kept = own.mean(axis=0)
        kept[-10:] = own[rank, -10:]
        return kept

    told = (
        r"of 61706 are not, from output\.bias\[[0-9]\] to output\.bias\[9\]; still this rank's own"
    )
    with pytest.raises(WrongAnswer, match=told):
        assert_trained_as_one(CASE, trained(all_but_the_tail))


def test_stale_gradients_are_those_of_the_epoch_before() -> None:
    kept = []

    def stale(own, rank, epoch):
        kept.append(own.mean(axis=0))
        return kept[0]

    with pytest.raises(WrongAnswer, match=r"after epoch 2 .* the mean of the epoch before"):
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
    with pytest.raises(WrongAnswer, match=r"rank 1: after epoch 1.* only change parameter\.grad"):
        assert_trained_as_one(CASE, found)


def test_what_the_probe_says_comes_first() -> None:
    found = trained(mean)
    found.results[1]["problem"] = "c1.bias.grad is None after the call"
    for check in (assert_trained_as_one, assert_mean_to_rounding, assert_replicas_equal):
        with pytest.raises(WrongAnswer, match=r"rank 1: c1\.bias\.grad is None"):
            check(CASE, found)


def test_an_epoch_that_is_missing_is_no_right_answer() -> None:
    found = trained(mean)
    for name in ("own", "averaged", "parameters"):
        found.results[2][name] = found.results[2][name][:1]
    with pytest.raises(WrongAnswer, match="rank 2 went through 1 epochs, expected 2"):
        assert_mean_to_rounding(CASE, found)


def one_chunk_each(own, rank, epoch):
    """Reduce-scatter alone: the others' chunks hold what has come so far."""
    chunks = np.array_split(own.copy(), NUM_RANKS, axis=1)
    for number, chunk in enumerate(chunks):
        come = [(rank - step) % NUM_RANKS for step in range((number - rank) % NUM_RANKS + 1)]
        chunk[rank] = chunk[come].sum(axis=0)
    return np.concatenate([chunk[rank] for chunk in chunks])


def chunk_twice(own, rank, epoch):
    """A right ring, but in one chunk rank 0 is twice and rank 1 not at all."""
    found = own.mean(axis=0)
    found[:20_000] = ((2 * own[0] + own[2]) / NUM_RANKS)[:20_000]
    return found


@pytest.mark.parametrize(
    "synchronise, holding",
    [
        (lambda own, rank, epoch: own.sum(axis=0), {0, 1, 2, 3}),
        (lambda own, rank, epoch: own.sum(axis=0) / 4, {0, 1, 2, 3}),
        (lambda own, rank, epoch: own[rank] if rank else own.mean(axis=0), {0, 4}),
        (one_chunk_each, {1, 3}),
        (chunk_twice, {1, 3, 4}),
        (lambda own, rank, epoch: own[rank], set()),
        (lambda own, rank, epoch: own[0], set()),
        (lambda own, rank, epoch: own[rank] * 0, set()),
        (lambda own, rank, epoch: own[rank] + own[rank - 1], set()),
        (lambda own, rank, epoch: own.max(axis=0), set()),
    ],
    ids=[
        *("sum", "sum by four", "mean on rank 0", "reduce-scatter", "a chunk wrong"),
        *("own", "rank 0's", "zero", "one neighbour", "maximum"),
    ],
)
def test_what_is_sound_is_told_from_what_is_not(synchronise, holding) -> None:
    found = trained(synchronise)
    held = set()
    for number, check in enumerate(SUM_CHECKS):
        try:
            check(CASE, found)
        except WrongAnswer:
            continue
        held.add(number)
    assert held == holding


def test_who_is_in_a_sum_how_often_is_told() -> None:
    told = r"from c1\.weight\[0, 0, 0, 0\] on: rank 0 is in it twice, rank 1 is in it not at all"
    with pytest.raises(WrongAnswer, match=told):
        assert_trained_as_one(CASE, trained(chunk_twice))


def test_what_is_returned_instead_of_written_counts_as_a_sum_only() -> None:
    found = trained(mean)
    for result in found.results:
        result["returned"] = result["averaged"][:1]
        result["averaged"] = result["averaged"][:0]
        result["problem"] = "c1.weight.grad is None after the call"
    nearly_complete(CASE, found)
    assert_divided(CASE, found)
    for check in (assert_nearly_all_in_every_epoch, assert_trained_as_one):
        with pytest.raises(WrongAnswer, match="grad is None after the call"):
            check(CASE, found)
