"""Outcomes made by hand: what a run of a given training would have brought back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from psgd_hogwild import softmax_regression
from psgd_hogwild.psgd_cases import BATCH_NS
from psgd_hogwild.training_cases import NUM_FEATURES, NUM_PARAMETERS, Training

from grader.api import Call, Data, Outcome

from ...judge import build

STEP_NS = 2 * BATCH_NS


def key_of(error: Any) -> str:
    """Return the key of what a check raised: of the finding that names the cause."""
    return str(error.value.findings[0].key)


def facts_of(error: Any, key: str) -> Mapping[str, Any]:
    """Return the facts of what a check found under this key, among whatever else it raised."""
    (facts,) = [each.facts for each in error.value.findings if each.key == key]
    return facts


def inputs_of(case: Training, ranks: int = 1, seed: int = 0) -> Sequence[Mapping[str, Any]]:
    """Return inputs as the runner would make them."""
    return case.inputs(np.random.default_rng(seed), ranks, Data())


def outcome_of(
    case: Training,
    inputs: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    calls: Sequence[Sequence[Call]] = (),
) -> Outcome:
    """Return the outcome of ranks that returned `results` and made `calls`."""
    return build.outcome(case, inputs, results, build.trace_of(calls or [()] * len(inputs)))


def batches_of(case: Training, part: Sequence[int]) -> list[np.ndarray]:
    """Return the batches of a part for all epochs, in the order of the dataset."""
    rows = np.asarray(part, dtype=np.int64)
    starts = range(0, len(rows), case.batch_size)
    return [rows[begin : begin + case.batch_size] for begin in starts] * case.epochs


def told(
    given: Mapping[str, Any],
    parameters: np.ndarray,
    batches: Sequence[np.ndarray],
    processes: Sequence[int] | None = None,
    gradients: np.ndarray | None = None,
) -> dict[str, Any]:
    """Return what a probe says of a training that ended with `parameters`."""
    weights, biases = softmax_regression.unpacked(parameters, NUM_FEATURES)
    numbers = np.arange(len(batches))
    who = np.zeros(len(batches), np.int64) if processes is None else np.asarray(processes)
    return {
        "weights": weights.astype(np.float32),
        "biases": biases.astype(np.float32),
        "given_weights": weights.astype(np.float32),
        "given_biases": biases.astype(np.float32),
        "returned": "the given model",
        "rows": np.concatenate([np.zeros(0, np.int64), *batches]),
        "rows_per_batch": np.array([len(batch) for batch in batches], dtype=np.int64),
        "gradients": np.zeros((len(batches), NUM_PARAMETERS), np.float32)
        if gradients is None
        else gradients.astype(np.float32),
        "processes": who,
        "threads": who,
        "forward_passes": numbers,
        "ended_ns": STEP_NS * numbers + STEP_NS // 2,
    }


def learned(
    case: Training, given: Mapping[str, Any], start: np.ndarray, batches: Sequence[np.ndarray]
) -> np.ndarray:
    """Return what SGD makes of a start on these batches."""
    pairs = [(given["inputs"][rows].astype(float), given["labels"][rows]) for rows in batches]
    return softmax_regression.train(start, case.lr, pairs)


def gradients_met(
    case: Training, given: Mapping[str, Any], start: np.ndarray, batches: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the gradients that SGD meets on these batches, a row a batch."""
    rows, weights = [], start
    for batch in batches:
        pairs = given["inputs"][batch].astype(float), given["labels"][batch]
        rows.append(softmax_regression.gradient(weights, *pairs))
        weights = weights - case.lr * rows[-1]
    return np.array(rows).reshape(len(batches), NUM_PARAMETERS)


def call(function: str, entered_ns: int, line: int = 7) -> Call:
    """Return a call that was completed in the student's phase."""
    times = {"entered_ns": entered_ns, "left_ns": entered_ns + 1, "completed_ns": entered_ns + 1}
    fields = {"communicator": 1, "communicator_size": 2, "num_elements": 1, "num_bytes": 8}
    return build.call(function, **times, **fields, file="psgd.py", line=line)
