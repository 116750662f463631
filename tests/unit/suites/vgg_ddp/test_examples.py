"""Examples that are shared out pass; each way not to share them out is told."""

import numpy as np
import pytest
from vgg_ddp import examples, train_cases

from grader.judge.check_failures import WrongAnswer

from .trainings import case, outcome, right


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
    ("own", "words"),
    [
        ([0, *ODD[1:]], "ranks 0 and 1 train on example 0, 2 times in one epoch"),
        ([*ODD[:-1], 1], "rank 1 trains on example 1, 2 times in one epoch"),
    ],
)
def test_an_example_that_comes_twice_is_told(own, words):
    with pytest.raises(WrongAnswer, match=f"{words}.*DistributedSampler"):
        examples.assert_shared_out(case(), shared(EVEN, own))


@pytest.mark.parametrize(
    ("own", "sizes", "words"),
    [
        ((EVEN * 2, ODD * 2), (6, 3, 6, 3), "trained on 2 times, as in 2 epochs; .* one epoch"),
        ((EVEN[:6], ODD[:6]), (6,), "of 18 examples 6 are left out, .*drop_last"),
        ((EVEN[:-1], ODD), None, "of 18 examples 1 are left out, such as example 16$"),
        (([*EVEN, 4], ODD), None, "example 4 is trained on 2 times; this training is one epoch"),
    ],
)
def test_a_training_that_is_no_epoch_is_told(own, sizes, words):
    seen = shared(*own, sizes=sizes or (1,))
    for rank, results in enumerate(seen.results):
        if sizes is None:
            results["batch_sizes"] = np.array([len(own[rank])])
    with pytest.raises(WrongAnswer, match=words):
        examples.assert_one_epoch(case("program"), seen)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((3, 3, 3), "rank 0 trains on batches of 3 examples; 12 in all make 6 for each of 2"),
        ((9,), "rank 0 trains on batches of 9 examples"),
        ((3, 6), "rank 0 trains on batches of 3 examples"),
    ],
)
def test_batches_of_another_size_are_told(sizes, words):
    """Only the last of an epoch may be smaller, and none larger."""
    with pytest.raises(WrongAnswer, match=words):
        examples.assert_batch_sizes(case(), shared(EVEN, ODD, sizes=sizes))


def test_one_rank_has_the_whole_batch():
    with pytest.raises(WrongAnswer, match="trains on batches of 6 examples; expected 12"):
        examples.assert_batch_sizes(case(), shared(EVEN + ODD, sizes=(6, 6, 6)))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    ("sizes", "words"), [((6, 2), "does not add up"), ((9, 0), "does not add up")]
)
def test_sizes_that_do_not_fit_the_examples_are_told(check, sizes, words):
    with pytest.raises(WrongAnswer, match=words):
        check(case(), shared(EVEN, ODD, sizes=sizes))
