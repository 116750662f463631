"""Trainings made by hand: what the ranks of a right run would have brought back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from vgg_ddp import serial
from vgg_ddp.checks import Check
from vgg_ddp.train_cases import Training

from grader.grading_plugin.case import Case
from grader.judge.check_failures import CheckFailure, RuleViolation, WrongAnswer
from grader.model.report import Outcome
from grader.oracles import packed

from ...judge import build

FIRST_CHANNELS = 1
LABELS = np.random.default_rng(2).integers(serial.NUM_CLASSES, size=384)
SHARES = (0.5, 0.75, 0.95)


def case(extent: str = "epoch") -> Training:
    """Return a case with the narrowest network."""
    return Training(
        "train",
        file="part2b/main.py",
        extent=extent,
        exchange="all_reduce",
        first_channels=FIRST_CHANNELS,
    )


EPOCH = case()


def outcome(case: Case, results: Sequence[Any]) -> Outcome:
    """Return the outcome of a case whose ranks returned `results`, which made no call."""
    inputs = ({"train_labels": LABELS},) * len(results)
    return build.outcome(case, inputs, results, build.trace_of([()] * len(results)))


def refused(
    check: Check, seen: Outcome, key: str, case: Case = EPOCH, **facts: Any
) -> CheckFailure:
    """Assert that a check fails with this key and these facts first; return how it fails."""
    with pytest.raises((WrongAnswer, RuleViolation)) as raised:
        check(case, seen)
    first = raised.value.findings[0]
    assert first.key == key
    assert {name: first.facts.get(name) for name in facts} == facts
    return raised.value


def spread(vector: np.ndarray[Any, Any]) -> list[float]:
    """Return what the probe tells of a vector that is given to an operation."""
    return [len(vector), len(vector), *np.quantile(np.abs(vector), SHARES)]


def start(seed: int = 0) -> np.ndarray[Any, Any]:
    """Return packed parameters such as a new network has."""
    random, shapes = np.random.default_rng(seed), serial.shapes(FIRST_CHANNELS)
    named = {
        name: np.ones(shape) if len(shape) == 1 else random.normal(size=shape) / shape[1] ** 0.5
        for name, shape in shapes.items()
    }
    return packed(named, shapes).astype(np.float32)


def right(ranks: int, num_steps: int = 1, batch_size: int = 6) -> list[dict[str, Any]]:
    """Return what every rank brings back that trains as it should, in small batches."""
    random = np.random.default_rng(1)
    shape = (ranks, num_steps, batch_size)
    images = random.normal(size=(*shape, 3, 32, 32)).astype(np.float32)
    examples = np.arange(ranks * num_steps * batch_size).reshape(num_steps, ranks, batch_size)
    before, reached, used, local = start(), [], [], []
    for step in range(num_steps):
        wide = before.astype(np.float64)
        batches = [(images[rank, step], LABELS[examples[step, rank]]) for rank in range(ranks)]
        own = [serial.gradient(wide, *batch, FIRST_CHANNELS) for batch in batches]
        local.append(np.array(own, dtype=np.float32))
        used.append(np.mean(local[-1].astype(np.float64), axis=0).astype(np.float32))
        history = np.array([start(), *reached], dtype=np.float32)
        ends = serial.ends_of_steps(history[0], history[1:], np.array(used))
        before = ends[-1].astype(np.float32)
        reached.append(before)
    return [
        {
            "start": start(),
            "images": images[rank].reshape(-1, 3, 32, 32),
            "examples": examples[:, rank].ravel(),
            "batch_sizes": np.full(num_steps, batch_size),
            "local": np.array([each[rank] for each in local]),
            "used": np.array(used),
            "parameters": np.array(reached),
            "counts": np.full(3, num_steps),
            "through_ddp": np.zeros(num_steps, dtype=np.int64),
            "is_wrapped": np.zeros(num_steps, dtype=np.int64),
            "in_training": np.ones(num_steps, dtype=np.int64),
            "num_reduced": np.zeros(num_steps, dtype=np.int64),
            "paused_forward_ns": np.zeros((0, 2), dtype=np.int64),
            "paused_backward_ns": np.zeros((0, 2), dtype=np.int64),
            "given": np.array([spread(each[rank]) for each in local]),
            "old_names": "",
        }
        for rank in range(ranks)
    ]
