"""Synchronous fits: right ones hold, and each known mistake is told as what it is."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mpi_sgd import serial, sync_cases
from mpi_sgd.first_step import same_contributions_as
from mpi_sgd.fit_cases import Fit
from mpi_sgd.sync_cases import (
    FIRST_STEP,
    SEVERAL_STEPS,
    assert_batches,
    assert_every_process_has_all_gradients,
    assert_gradients_are_used,
    assert_trained_as_one_process,
    cases_by_ranks,
)

from grader.api import Outcome, WrongAnswer

from .outcomes import call, inputs_of, outcome, trace_of

CASES = cases_by_ranks("sync_network.py", has_messages=True)
RANKS = 3
BY_GROUP = {case.group: case for case in CASES[RANKS]}
SHARE = 16 // RANKS

Inputs = Sequence[Any]


def trained(
    parameters: Callable[[int, Inputs], serial.Vector] | None = None,
    group: str = SEVERAL_STEPS,
    batch_size: int = SHARE,
    num_batches: Callable[[int], int] = lambda rank: 3,
    mark: Callable[[np.ndarray], np.ndarray] = lambda rows: rows,
) -> tuple[Fit, Outcome]:
    """Return a case and an outcome in which rank r ends with parameters(r, inputs)."""
    case = BY_GROUP[group]
    inputs = inputs_of(case, RANKS)
    rows = [
        given["script"].reshape(-1, 16)[: num_batches(rank), :batch_size]
        for rank, given in enumerate(inputs)
    ]
    results = []
    for rank in range(RANKS):
        held = parameters(rank, inputs) if parameters else stepped(rows, inputs)
        results.append(
            {
                **serial.unpacked(held, case.sizes),
                "rows": mark(rows[rank].ravel()),
                "rows_per_batch": np.full(len(rows[rank]), batch_size),
                "seen": np.zeros((len(rows[rank]), 0)),
            }
        )
    return case, outcome(case, inputs, results)


def stepped(
    rows: Sequence[np.ndarray], inputs: Inputs, scale: float = 1.0, keeps_sums: bool = False
) -> serial.Vector:
    """Return what serial training on the union of these ranks' batches ends with."""
    given = inputs[0]
    batches = [np.concatenate(step) for step in zip(*rows, strict=False)]
    pairs = [(given["data"][batch], given["labels"][batch]) for batch in batches]
    rate = given["learning_rate"] * scale
    return serial.train(given["start"], given["sizes"], rate, pairs, keeps_sums=keeps_sums)


def scripted(inputs: Inputs) -> list[np.ndarray]:
    return [given["script"].reshape(-1, 16)[:, :SHARE] for given in inputs]


@pytest.mark.parametrize("group", [FIRST_STEP, SEVERAL_STEPS])
def test_the_sum_over_all_ranks_is_right(group: str) -> None:
    case, found = trained(group=group, num_batches=lambda rank: BY_GROUP[group].num_steps)
    assert_trained_as_one_process(case, found)
    assert_gradients_are_used(case, found)
    assert_batches(case, found)


def start(rank: int, inputs: Inputs) -> serial.Vector:
    return inputs[0]["start"]


def mean(rank: int, inputs: Inputs) -> serial.Vector:
    return stepped(scripted(inputs), inputs, 1 / RANKS)


def own(rank: int, inputs: Inputs) -> serial.Vector:
    return stepped(scripted(inputs)[rank : rank + 1], inputs)


def kept(rank: int, inputs: Inputs) -> serial.Vector:
    return stepped(scripted(inputs), inputs, keeps_sums=True)


def without_rank_1(rank: int, inputs: Inputs) -> serial.Vector:
    rows = scripted(inputs)
    return stepped([rows[0], rows[0], rows[2]], inputs)


def only_rank_0(rank: int, inputs: Inputs) -> serial.Vector:
    return inputs[0]["start"] if rank else stepped(scripted(inputs), inputs)


def biases_for_weights(rank: int, inputs: Inputs) -> serial.Vector:
    sizes = inputs[0]["sizes"]
    begin = serial.unpacked(inputs[0]["start"], sizes)
    held = serial.unpacked(stepped(scripted(inputs), inputs).copy(), sizes)
    for layer in range(1, len(sizes)):
        change = held[f"biases[{layer}]"] - begin[f"biases[{layer}]"]
        held[f"weights[{layer}]"] = begin[f"weights[{layer}]"] + change
    return serial.packed(held, sizes)


@pytest.mark.parametrize(
    ("parameters", "mistake"),
    [
        (start, "rank 0: it ends with the start weights: it took no step"),
        (mean, "rank 0: it took steps by the mean of the gradients; they are to be summed"),
        (own, "rank 0: it took steps by its own gradients alone"),
        (kept, "rank 0: each step adds its sums to those of the step before"),
        (only_rank_0, "rank 1: it ends with the start weights"),
    ],
)
def test_known_mistakes_of_several_steps_are_told(parameters, mistake: str) -> None:
    case, found = trained(parameters)
    with pytest.raises(WrongAnswer, match=mistake):
        assert_trained_as_one_process(case, found)


@pytest.mark.parametrize(
    ("parameters", "mistake", "come_together"),
    [
        (start, r"rank 0: .* weights\[1\] did not change", False),
        (mean, r"weights\[1\] changed by the mean of all ranks' gradients", True),
        (lambda r, i: stepped(scripted(i), i, RANKS), "3 times the sum over all 3 ranks", True),
        (lambda r, i: stepped(scripted(i), i, -1), "in the wrong direction", True),
        (lambda r, i: stepped(scripted(i), i, 0.5), "by 0.5 times the sum", True),
        (own, "by this rank's own gradients alone, not by the sum over all ranks", False),
        (without_rank_1, "of rank 0 twice, of rank 1 not at all and of rank 2 once", False),
        (only_rank_0, r"rank 1: .* weights\[1\] did not change", True),
        (biases_for_weights, r"the gradients of biases\[1\], the same in every row", True),
        (lambda r, i: np.full_like(i[0]["start"], np.nan), "not a? ?finite", False),
        (lambda r, i: i[0]["start"] + np.arange(len(i[0]["start"])) % 7, "no sum of the", False),
    ],
)
def test_what_a_first_step_is_made_of_is_told(parameters, mistake: str, come_together) -> None:
    """A step in equal parts that is not the sum still shows that the gradients came together."""
    case, found = trained(parameters, FIRST_STEP, num_batches=lambda rank: 1)
    with pytest.raises(WrongAnswer, match=mistake):
        assert_trained_as_one_process(case, found)
    if come_together:
        assert_gradients_are_used(case, found)
    else:
        with pytest.raises(WrongAnswer, match="no process takes a step by the gradients of all"):
            assert_gradients_are_used(case, found)


@pytest.mark.parametrize(("parameters", "holds"), [(mean, True), (only_rank_0, False)])
def test_every_process_has_all_gradients_or_not(parameters, holds: bool) -> None:
    case, found = trained(parameters, FIRST_STEP, num_batches=lambda rank: 1)
    if holds:
        assert_every_process_has_all_gradients(case, found)
    else:
        with pytest.raises(WrongAnswer, match=r"rank 1: .* did not change"):
            assert_every_process_has_all_gradients(case, found)


@pytest.mark.parametrize(
    ("calls", "is_told"),
    [([call("Reduce", 8, peer=0, line=9)], True), ([call("Allreduce", 8)], False)],
)
def test_a_reduce_to_one_rank_is_named_where_the_others_have_nothing(calls, is_told) -> None:
    case, found = trained(only_rank_0, FIRST_STEP, num_batches=lambda rank: 1)
    found = replace(found, trace=trace_of([calls] * RANKS))
    with pytest.raises(WrongAnswer) as error:
        assert_every_process_has_all_gradients(case, found)
    assert ("Reduce at sync_network.py:9 gives the sum to rank 0 only" in str(error.value)) is (
        is_told
    )


@pytest.mark.parametrize("parameters", [None, mean, only_rank_0])
def test_a_step_is_compared_with_the_ordinary_one_element_by_element(parameters) -> None:
    """A message that was altered changes one number in an array."""
    case, ordinary = trained(parameters, FIRST_STEP, num_batches=lambda rank: 1)
    check = same_contributions_as(case, ordinary)
    check(case, ordinary)
    moved = outcome(case, ordinary.inputs, [dict(result) for result in ordinary.results])
    moved["weights[2]"][0][1, 1] += 1e-3
    with pytest.raises(WrongAnswer, match=r"rank 0: in the first step, weights\[2\] changed"):
        check(case, moved)


def test_process_0_alone_may_be_looked_at() -> None:
    case, found = trained(only_rank_0)
    assert_trained_as_one_process(case, found, only_process_0=True)
    with pytest.raises(WrongAnswer, match="rank 1"):
        assert_trained_as_one_process(case, found)


def test_a_wrong_array_is_named_with_rank_and_place() -> None:
    def moved(rank: int, inputs: Inputs) -> serial.Vector:
        right = stepped(scripted(inputs), inputs)
        right[-1] += 1e-6 * (rank == 2)
        return right

    case, found = trained(moved)
    with pytest.raises(WrongAnswer, match=r"^3 ranks, layers 64-32-10.*rank 2: biases\[2\]\[9\]"):
        assert_trained_as_one_process(case, found)


def test_different_numbers_of_batches_have_their_own_message() -> None:
    case, found = trained(num_batches=lambda rank: 3 if rank else 2)
    with pytest.raises(WrongAnswer, match="rank 0: 2, rank 1: 3, rank 2: 3"):
        assert_trained_as_one_process(case, found)
    with pytest.raises(WrongAnswer, match=r"rank 0 trained on 2 batches, expected .* = 3"):
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
def test_cases_differ_and_leave_every_rank_a_row(ranks: int) -> None:
    cases = CASES[ranks]
    assert len({case.label for case in cases}) == len(cases)
    assert all(case.mini_batch_size >= ranks for case in cases)
    assert [c.synchronous_sends for c in cases] == sorted(c.synchronous_sends for c in cases)
    first = cases[0]
    assert first.group == FIRST_STEP
    assert min(int(np.prod(shape)) for shape in first.shapes.values()) > ranks


def test_only_a_part_with_messages_of_its_own_is_asked_to_do_without_buffers() -> None:
    cases = cases_by_ranks("sync_network_collective.py", has_messages=False)
    assert not any(case.synchronous_sends for each in cases.values() for case in each)
    assert any(case.group == sync_cases.UNBUFFERED for case in CASES[2])
