"""How much of a training that came to no end follows from its messages."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from mpi_sgd import async_cases, serial
from mpi_sgd.replayed_messages import are_told, slices_of

from grader.api import Attempt, Call
from grader.model.report import RunFailure, Verdict

from ...judge.build import samples_of_bytes, trace_of
from .outcomes import call, inputs_of

CASE = next(
    case for case in async_cases.cases_by_ranks()[3] if case.group == async_cases.ONE_MASTER
)
RANKS = 3
CRASHED = RunFailure(Verdict.RUN_TIME_ERROR, "a crash")
RANDOM = np.random.default_rng(4)
NUM_BYTES = 8 * serial.num_parameters(CASE.sizes) * CASE.num_steps
Shown = Callable[[serial.Vector, int], serial.Vector]


def true(values: serial.Vector, number: int) -> serial.Vector:
    return values


def zeros(values: serial.Vector, number: int) -> serial.Vector:
    """Return what is true in the first batch of each worker alone."""
    return values if number < 2 else 0 * values


def noise(values: serial.Vector, number: int) -> serial.Vector:
    return values if number < 2 else RANDOM.standard_normal(values.shape)


def trained(
    gradients: Shown = true,
    values: Shown = true,
    *,
    factor: float = 1.0,
    steps_first: bool = True,
    which_slice: int = 0,
    by_array: bool = True,
) -> Callable[[float], bool]:
    """Return whether a share of a training of two workers that take turns is told."""
    inputs = inputs_of(CASE, RANKS)
    made: list[list[Call]] = [[] for _ in range(RANKS)]
    bare = Attempt(RANKS, tuple(inputs), trace_of(made), CRASHED)
    master = inputs[0]["start"]
    held = {1: master, 2: master}
    time_ns = 0

    def send(rank: int, peer: int, vector: serial.Vector) -> None:
        nonlocal time_ns
        arrays = serial.unpacked(vector, CASE.sizes).values() if by_array else [vector]
        for array in arrays:
            raw, time_ns = array.tobytes(), time_ns + 1
            sampled = samples_of_bytes(raw, RANDOM)
            sent = call("Isend", len(raw), peer=peer)
            made[rank].append(replace(sent, entered_ns=time_ns, **sampled))

    for number in range(CASE.num_steps):
        worker = 1 + number % 2
        batches = slices_of(CASE, bare, worker)[which_slice]
        batch, given = batches[number // 2], inputs[worker]
        data, labels = given["data"][batch], given["labels"][batch]
        gradient = serial.gradient(held[worker], CASE.sizes, data, labels)
        send(worker, 0, gradients(gradient, number))
        old, master = master, master - factor * CASE.learning_rate * gradient
        held[worker] = master if steps_first else old
        send(0, worker, values(held[worker], number))
    seen = replace(bare, trace=trace_of(made))
    return lambda share: are_told(CASE, seen, int(share * NUM_BYTES))


@pytest.mark.parametrize(
    ("by_array", "which_slice", "factor", "steps_first"),
    [
        (True, 0, 1.0, True),
        (False, 1, 1.0, True),
        (True, 2, 1.0, False),
        (True, 3, 1 / 2, True),
        (False, 4, 1 / 8, True),
    ],
)
def test_a_training_is_told_by_its_messages(by_array, which_slice, factor, steps_first) -> None:
    """All but arrays as short as a number beside them; before a first step nothing is new."""
    told = trained(
        factor=factor, steps_first=steps_first, which_slice=which_slice, by_array=by_array
    )
    assert told(0.9)


@pytest.mark.parametrize("show", [zeros, noise])
def test_what_only_begins_true_is_told_apart(show: Shown) -> None:
    for told in trained(show, show), trained(true, show):
        assert not told(0.2)


def test_start_weights_that_are_sent_back_are_no_new_values() -> None:
    start = inputs_of(CASE, RANKS)[0]["start"]
    assert not trained(values=lambda values, number: start)(0.01)
