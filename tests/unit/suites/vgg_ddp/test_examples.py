"""Examples that are shared out pass; each way not to share them out is told."""

import numpy as np
import pytest
from vgg_ddp import examples, train_cases

from .trainings import case, outcome, refused, right


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let an epoch be two batches: one of 12 examples, and a rest of 6."""
    monkeypatch.setattr(train_cases, "NUM_EXAMPLES", 18)
    monkeypatch.setattr(examples, "BATCH_SIZE", 12)


def shared(*by_rank, sizes=(6, 3)):
    """Return an outcome whose ranks train on these examples."""
    results = right(len(by_rank))
    for rank, own in enumerate(by_rank):
        results[rank] |= {"examples": np.array(own), "batch_sizes": np.array(sizes)}
    return outcome(case(), results)


EVEN, ODD = list(range(0, 18, 2)), list(range(1, 18, 2))
CHECKS = (examples.assert_shared_out, examples.assert_one_epoch, examples.assert_batch_sizes)


@pytest.mark.parametrize("check", CHECKS)
def test_an_epoch_that_is_shared_out_passes(check):
    """With its last, smaller batch; on one rank too."""
    check(case(), shared(EVEN, ODD))
    check(case(), shared(EVEN + ODD, sizes=(12, 6)))


@pytest.mark.parametrize(
    ("own", "facts"),
    [
        ([0, *ODD[1:]], {"example": 0, "times": 2, "ranks": (0, 1)}),
        ([*ODD[:-1], 1], {"example": 1, "times": 2, "ranks": (1,)}),
    ],
)
def test_an_example_that_comes_twice_is_told(own, facts):
    seen = shared(EVEN, own)
    error = refused(examples.assert_shared_out, seen, "examples.trained_twice", **facts)
    assert "DistributedSampler" in error.findings[0].help


def test_ranks_with_the_same_examples_are_told():
    """In any order; one rank alone has no others to share with."""
    facts = {"example": 0, "times": 2, "num_ranks": 2}
    seen = shared(EVEN, EVEN[::-1])
    error = refused(examples.assert_shared_out, seen, "examples.same_on_all_ranks", **facts)
    assert "DistributedSampler" in error.findings[0].help
    alone = shared(EVEN * 2, sizes=(12, 6))
    refused(examples.assert_shared_out, alone, "examples.trained_twice", ranks=(0,))


@pytest.mark.parametrize(
    ("own", "sizes", "key", "facts"),
    [
        ((EVEN * 2, ODD * 2), (6, 3, 6, 3), "epoch.several", {"epochs": 2}),
        ((EVEN[:6], ODD[:6]), (6,), "epoch.last_batch_left_out", {"missing": 6, "examples": 18}),
        ((EVEN[:-1], ODD), None, "epoch.examples_left_out", {"missing": 1, "examples": 18}),
        (([*EVEN, 4], ODD), None, "epoch.example_repeated", {"example": 4, "times": 2}),
    ],
)
def test_a_training_that_is_no_epoch_is_told(own, sizes, key, facts):
    seen = shared(*own, sizes=sizes or (1,))
    for rank, results in enumerate(seen.results):
        if sizes is None:
            results["batch_sizes"] = np.array([len(own[rank])])
    error = refused(examples.assert_one_epoch, seen, key, case("program"), **facts)
    if key == "epoch.last_batch_left_out":
        assert "drop_last" in error.findings[0].help
    if key == "epoch.examples_left_out":
        assert "example 16." in error.findings[0].text


@pytest.mark.parametrize(("sizes", "size"), [((3, 3, 3), 3), ((9,), 9), ((3, 6), 3)])
def test_batches_of_another_size_are_told(sizes, size):
    """Only the last of an epoch may be smaller, and none larger."""
    seen, facts = shared(EVEN, ODD, sizes=sizes), {"rank": 0, "size": size, "expected": 6}
    error = refused(examples.assert_batch_sizes, seen, "batches.wrong_size", **facts)
    assert "12 examples over 2 ranks" in error.findings[0].text


def test_one_rank_has_the_whole_batch():
    seen, facts = shared(EVEN + ODD, sizes=(6, 6, 6)), {"size": 6, "expected": 12}
    refused(examples.assert_batch_sizes, seen, "batches.wrong_size", **facts)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ((6, 2), "9 examples; its recorded batch sizes (6, 2) do not add up to that."),
        (
            (2, 2, 2, 2),
            "its recorded batch sizes (2, 2, 2, ...) do not add up to that.",
        ),
        ((9, 0), "Rank 0's record contains a batch of 0 examples."),
    ],
)
def test_sizes_that_do_not_fit_the_examples_are_told(check, sizes, told):
    seen = shared(EVEN, ODD, sizes=sizes)
    error = refused(check, seen, "training.batches_do_not_fit", examples=9)
    assert error.findings[0].text.endswith(told)
