"""Synchronous fits: right ones hold, and each known mistake is told as what it is."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from mpi_sgd import serial
from mpi_sgd.fit_cases import Fit
from mpi_sgd.sync_cases import (
    assert_batches,
    assert_trained_as_one_process,
    cases_by_ranks,
)

from grader.judge.findings import WrongAnswer
from grader.model import Outcome

from .outcomes import inputs_of, outcome

CASES = cases_by_ranks("sync_network.py")
RANKS = 3


def trained(
    parameters: Callable[[int, Sequence[Any]], serial.Vector] | None = None,
    batch_size: int = 16 // RANKS,
    num_batches: Callable[[int], int] = lambda rank: 6,
    mark: Callable[[np.ndarray], np.ndarray] = lambda rows: rows,
) -> tuple[Fit, Outcome]:
    """Return a case and an outcome in which rank r ends with parameters(r, inputs)."""
    case = CASES[RANKS][0]
    inputs = inputs_of(case, RANKS)
    rows = [
        given["script"].reshape(-1, 16)[: num_batches(rank), :batch_size]
        for rank, given in enumerate(inputs)
    ]
    results = []
    for rank in range(RANKS):
        held = parameters(rank, inputs) if parameters else summed(rows, inputs)
        results.append(
            {
                **serial.unpacked(held, case.sizes),
                "rows": mark(rows[rank].ravel()),
                "rows_per_batch": np.full(len(rows[rank]), batch_size),
                "seen": np.zeros((len(rows[rank]), 0)),
            }
        )
    return case, outcome(case, inputs, results)


def summed(rows: Sequence[np.ndarray], inputs: Sequence[Any], scale: float = 1.0) -> serial.Vector:
    case, given = CASES[RANKS][0], inputs[0]
    batches = [np.concatenate(step) for step in zip(*rows, strict=False)]
    pairs = [(given["data"][batch], given["labels"][batch]) for batch in batches]
    return serial.train(given["start"], case.sizes, case.learning_rate * scale, pairs)


def scripted(inputs: Sequence[Any]) -> list[np.ndarray]:
    return [given["script"].reshape(-1, 16)[:, : 16 // RANKS] for given in inputs]


def test_the_sum_over_all_ranks_is_right() -> None:
    case, found = trained()
    assert_trained_as_one_process(case, found)
    assert_batches(case, found)


@pytest.mark.parametrize(
    ("parameters", "mistake"),
    [
        (lambda rank, inputs: inputs[0]["start"], "Rank 0: it ends with the start weights"),
        (
            lambda rank, inputs: summed(scripted(inputs), inputs, 1 / RANKS),
            "Rank 0: it took steps by the mean of the gradients",
        ),
        (
            lambda rank, inputs: summed([scripted(inputs)[rank]], inputs),
            "Rank 0: it took steps by its own gradients alone",
        ),
        (
            lambda rank, inputs: (
                summed(scripted(inputs), inputs) if rank == 0 else inputs[0]["start"]
            ),
            "Rank 1: it ends with the start weights",
        ),
    ],
    ids=["no step", "mean", "alone", "rank 0 only"],
)
def test_known_mistakes_are_told(parameters, mistake: str) -> None:
    case, found = trained(parameters)
    with pytest.raises(WrongAnswer, match=mistake):
        assert_trained_as_one_process(case, found)


def test_a_wrong_array_is_named_with_rank_and_place() -> None:
    def moved(rank: int, inputs: Sequence[Any]) -> serial.Vector:
        right = summed(scripted(inputs), inputs)
        right[-1] += 1e-6 * (rank == 2)
        return right

    case, found = trained(moved)
    with pytest.raises(WrongAnswer, match=r"^3 ranks, layers 6-5-4-3.*rank 2: biases\[3\]\[2\] is"):
        assert_trained_as_one_process(case, found)


def test_different_numbers_of_batches_have_their_own_message() -> None:
    case, found = trained(num_batches=lambda rank: 6 if rank else 5)
    with pytest.raises(WrongAnswer, match="rank 0: 5, rank 1: 6, rank 2: 6"):
        assert_trained_as_one_process(case, found)
    with pytest.raises(WrongAnswer, match=r"rank 0 trained on 5 batches, expected .* = 6"):
        assert_batches(case, found)


def test_whole_batches_on_every_rank_are_told() -> None:
    case, found = trained(batch_size=16)
    with pytest.raises(
        WrongAnswer, match=r"batch 0 has 16 rows, expected 5 \(mini_batch_size // size = 16 // 3\)"
    ):
        assert_batches(case, found)


def test_no_training_at_all_is_told() -> None:
    case, found = trained(num_batches=lambda rank: 0)
    with pytest.raises(WrongAnswer, match="no rank called forward_prop and back_prop"):
        assert_trained_as_one_process(case, found)


def test_inputs_of_the_students_own_making_are_told() -> None:
    case, found = trained(mark=lambda rows: np.where(rows == rows[0], -1, rows))
    with pytest.raises(WrongAnswer, match="not rows of training_data"):
        assert_trained_as_one_process(case, found)


@pytest.mark.parametrize("cheat", [lambda rows: rows[:-1], lambda rows: rows + 1000])
def test_a_log_that_cannot_be_is_refused_without_an_error_of_ours(cheat) -> None:
    case, found = trained(mark=cheat)
    with pytest.raises(WrongAnswer):
        assert_trained_as_one_process(case, found)


@pytest.mark.parametrize("ranks", CASES)
def test_batches_are_at_least_one_row_on_every_rank(ranks: int) -> None:
    labels = [case.label for case in CASES[ranks]]
    assert len(set(labels)) == len(labels)
    for case in CASES[ranks]:
        assert case.mini_batch_size >= ranks
    natural = [case for case in CASES[ranks] if case.moves_data]
    assert natural[0].epochs >= 2
    assert natural[0].number_of_batches >= 2
    assert [c.synchronous_sends for c in CASES[ranks]] == sorted(
        c.synchronous_sends for c in CASES[ranks]
    )
