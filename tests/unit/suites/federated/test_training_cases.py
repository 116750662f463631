"""The inputs of trainings, and how long the longer ones are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from federated import test_fedavg_iid, test_fedavg_noniid
from federated.rounds import BATCH_SIZE
from federated.training_cases import Training

from grader.api import Data

CASE = Training("train", file="x.py", num_training=12, client_sizes=(8, 4), is_skewed=True)


def given(case: Training, secret: int) -> Mapping[str, Any]:
    """Return what a rank gets."""
    return case.inputs(np.random.default_rng(secret), 3, Data())[0]


def test_a_longer_training_has_several_times_as_many_examples_of_each_client():
    """The number of times is drawn; of the length of other trainings nothing is."""
    longer = [given(replace(CASE, is_longer=True), secret) for secret in range(40)]
    times = [each["num_training"] / CASE.num_training for each in longer]
    assert set(times) == {3, 4, 5}
    for each, factor in zip(longer, times, strict=True):
        assert np.bincount(each["client_of"]).tolist() == [8 * factor, 4 * factor]
        assert len(each["images"]) == len(each["labels"]) > each["num_training"]
    assert {given(CASE, secret)["num_training"] for secret in range(5)} == {12}


@pytest.mark.parametrize("suite", [test_fedavg_iid, test_fedavg_noniid])
def test_all_clients_pause_in_the_first_round_of_a_longer_training(suite):
    """A pause in a later one would come after news of others' first round, as in turns."""
    for ordinary, *_ in suite.CASES.values():
        for secret in range(10):
            inputs = given(replace(ordinary, is_longer=True), secret)
            batches = -(-np.bincount(inputs["client_of"]) // BATCH_SIZE)
            assert batches.min() >= inputs["num_pauses"]
