"""What the ranks of psgd give each other, by samples."""

from dataclasses import replace

import numpy as np
import pytest
from psgd_hogwild.psgd_cases import Psgd
from psgd_hogwild.psgd_contents import assert_weights_given
from psgd_hogwild.training_cases import NUM_PARAMETERS, given_start

from grader.api import NotProven

from ...judge.build import Run, samples_of_bytes
from .made_outcomes import batches_of, inputs_of, key_of, outcome_of, told

RANKS = 4
CASE = Psgd(num_examples=60, epochs=2, batch_size=4, lr=0.25)
RANDOM = np.random.default_rng(3)
GRADIENTS = RANDOM.standard_normal((RANKS, 10, NUM_PARAMETERS)).astype("f4")


def checked(*calls_of_rank):
    """Check ranks that give these arrays; calls_of_rank: functions of what a rank has learned."""
    inputs = inputs_of(CASE, RANKS)
    results = [
        told(inputs[0], np.zeros(NUM_PARAMETERS), batches_of(CASE, range(20)), gradients=each)
        for each in GRADIENTS
    ]
    outcome = outcome_of(CASE, inputs, results)
    start, run = given_start(outcome, 0).astype("f4"), Run(RANKS)
    for rank, gradients in enumerate(GRADIENTS):
        weights = start
        for gradient in gradients:
            weights = weights - np.float32(CASE.lr) * gradient
        for form in calls_of_rank:
            given, fields = form(weights, start, rank)
            raw = np.asarray(given).tobytes()
            sampled = samples_of_bytes(raw, RANDOM)
            usual = {"function": "Allreduce", "num_bytes": len(raw)}
            run.call(rank, **{**usual, **sampled, **fields})
    assert_weights_given(CASE, replace(outcome, trace=run.trace()))


@pytest.mark.parametrize(
    "forms",
    [
        [lambda weights, start, rank: (weights, {})],
        [lambda weights, start, rank: (weights.astype("f8") / RANKS, {})],
        [lambda weights, start, rank: (weights - start, {})],
        [lambda weights, start, rank: ((weights / np.float32(3)).astype("f8"), {})],
        [lambda weights, start, rank: ((weights - start).astype("f8"), {})],
        [lambda weights, start, rank: (weights[:15], {}), lambda w, s, rank: (w[15:], {})],
        [lambda weights, start, rank: (weights if rank else 0 * weights, {})],
        [lambda weights, start, rank: (weights[:15], {"pickled": True, "num_bytes": 700})],
        [lambda weights, start, rank: (start, {}), lambda w, s, rank: (w, {})],
    ],
)
def test_what_was_learned_may_be_given_in_any_form(forms):
    for _ in range(10):
        checked(*forms)


@pytest.mark.parametrize(
    "forms",
    [
        [],
        [lambda weights, start, rank: (0 * weights, {})],
        [lambda weights, start, rank: (start, {})],
        [lambda weights, start, rank: (RANDOM.standard_normal(len(weights)).astype("f4"), {})],
        [lambda weights, start, rank: (weights[:3], {})],
        [lambda weights, start, rank: (weights, {"error": 1})],
        [lambda weights, start, rank: (weights, {"communicator_size": 1})],
        [lambda weights, start, rank: (weights, {"is_send": True, "peer": rank})],
        [lambda weights, start, rank: (b"", {"function": "Reduce_scatter_block"})],
    ],
)
def test_what_is_for_show_proves_nothing(forms):
    for _ in range(10):
        with pytest.raises(NotProven) as error:
            checked(*forms)
        assert key_of(error) == "evidence.weights_not_given"
