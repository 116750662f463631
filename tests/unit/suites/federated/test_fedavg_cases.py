"""Aggregated state dicts: right ones hold, and each known mistake is told as what it is."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from federated.aggregation import (
    COUNTER,
    ENTRIES,
    Aggregation,
    assert_counter_kept,
    assert_model_kept,
    assert_weighted_means,
    given_entries,
)
from federated.fedavg_cases import assert_figure
from federated.training_cases import Training

from grader.grading_plugin.case import Data
from grader.model.report import Outcome
from grader.trace.calls import Trace

from .runs import raises

CASE = Aggregation("aggregate", num_samples=(12, 70, 33), has_counter=True)
WEIGHTS = np.array(CASE.num_samples) / sum(CASE.num_samples)
FLOATS = [key for key in ENTRIES if key != COUNTER]

Entries = dict[str, np.ndarray]


def told(entries: Mapping[str, np.ndarray], word: str) -> dict[str, Any]:
    return {
        f"{word} keys": "\n".join(f"{key} {array.dtype}" for key, array in entries.items()),
        f"{word} numbers": np.concatenate([array.ravel() for array in entries.values()]) * 1.0,
        f"{word} lengths": np.array([array.size for array in entries.values()]),
    }


def outcome(change: Callable[[Entries, Mapping[str, np.ndarray]], Any] = lambda e, g: None):
    """Return the outcome of an Aggregator whose right answer `change` has altered."""
    inputs = tuple(CASE.inputs(np.random.default_rng(1), 1, Data()))
    empty = Outcome(CASE.label, 1, inputs, ({},), Trace(()), 0.0)
    given = given_entries(empty)
    entries = {key: (WEIGHTS @ rows).astype(np.float32) for key, rows in given.items()}
    entries[COUNTER] = given[COUNTER][0].astype(np.int64)
    entries = change(entries, given) or entries
    results = {
        key: value
        for word in ("aggregated", "given out", "held")
        for key, value in told(entries, word).items()
    }
    return replace(empty, results=(results,))


def test_the_right_answer_holds():
    assert_weighted_means(CASE, outcome(), FLOATS)
    assert_counter_kept(CASE, outcome())
    assert_model_kept(CASE, outcome())


BIAS, WEIGHT = {"name": "0.bias"}, {"name": "0.weight"}
NORM = {"name": "1.bias"}


@pytest.mark.parametrize(
    ("change", "key", "facts"),
    [
        (
            lambda e, g: {**e, "1.bias": e["1.weight"]},
            "keys_swapped",
            {**NORM, "other": "1.weight"},
        ),
        (lambda e, g: {**e, "1.bias": g["1.bias"][0]}, "first_client_only", NORM),
        (lambda e, g: {**e, "1.bias": g["1.bias"][2]}, "last_client_only", NORM),
        (lambda e, g: {**e, "0.weight": g["0.weight"].mean(axis=0)}, "unweighted", WEIGHT),
        (lambda e, g: {**e, "0.weight": g["0.weight"].sum(axis=0)}, "sum_not_mean", WEIGHT),
        (
            lambda e, g: {**e, "0.bias": WEIGHTS[1:] @ g["0.bias"][1:]},
            "client_missing",
            {**BIAS, "client": 0},
        ),
        (lambda e, g: {**e, "0.bias": 3 * e["0.bias"]}, "weights_not_1", {**BIAS, "factor": 3.0}),
        (lambda e, g: {**e, "0.bias": e["0.bias"] + e["1.bias"] ** 2}, "differs", BIAS),
        (
            lambda e, g: {**e, "0.bias": e["0.bias"][:2]},
            "wrong_length",
            {**BIAS, "length": 2, "expected": 4},
        ),
        (
            lambda e, g: {k: e[k] for k in e if "run" not in k},
            "keys_missing",
            {"missing": ("1.running_mean", "1.running_var")},
        ),
    ],
)
def test_a_wrong_entry_is_told_by_what_it_is_instead(change, key, facts):
    with raises(f"aggregate.{key}", **facts):
        assert_weighted_means(CASE, outcome(change), FLOATS)


def test_without_a_counter_none_is_given_or_asked_for():
    case = replace(CASE, has_counter=False)
    inputs = case.inputs(np.random.default_rng(1), 1, Data())
    assert "counts" not in inputs[0]
    assert COUNTER not in inputs[0]["keys"]
    empty = Outcome(case.label, 1, tuple(inputs), ({},), Trace(()), 0.0)
    means = {k: (WEIGHTS @ rows).astype(np.float32) for k, rows in given_entries(empty).items()}
    right = {
        k: v for word in ("aggregated", "given out", "held") for k, v in told(means, word).items()
    }
    assert_weighted_means(case, replace(empty, results=(right,)), FLOATS)
    assert_model_kept(case, replace(empty, results=(right,)))


@pytest.mark.parametrize(
    "change",
    [
        lambda e, g: {**e, COUNTER: WEIGHTS @ g[COUNTER]},
        lambda e, g: {**e, COUNTER: e[COUNTER].astype(np.float32)},
        lambda e, g: {**e, COUNTER: e[COUNTER] + 1},
    ],
)
def test_an_averaged_counter_is_told(change):
    with raises("aggregate.counter_not_kept", name=COUNTER):
        assert_counter_kept(CASE, outcome(change))


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("held", "aggregator.model_not_set"),
        ("given out", "aggregator.other_params_returned"),
    ],
)
def test_a_model_that_did_not_take_the_mean_in_is_told(word, key):
    right = outcome()
    changed = {f"{word} numbers": right.results[0][f"{word} numbers"] + 1}
    wrong = replace(right, results=({**right.results[0], **changed},))
    with raises(key, "'0.weight' is .*; aggregate.* had returned"):
        assert_model_kept(CASE, wrong)


@pytest.mark.parametrize(
    ("files", "key", "facts"),
    [
        ("", "figure.missing", {}),
        ("!figures/notes.png", "figure.not_an_image", {"name": "figures/notes.png"}),
        ("figures/labels.png", None, {}),
        ("!figures/a.txt\nfigures/labels.png", None, {}),
    ],
)
def test_a_figure_is_looked_for(files, key, facts):
    case = Training("train", file="fed_avg.py", num_training=20, client_sizes=(20,))
    seen = Outcome(case.label, 2, ({}, {}), ({"figures": files}, {"figures": ""}), Trace(()), 0.0)
    if key is None:
        assert_figure(case, seen)
    else:
        with raises(key, **facts):
            assert_figure(case, seen)
