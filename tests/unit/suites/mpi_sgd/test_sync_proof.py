"""Synchronous trainings of any honest form give their gradients; what is for show does not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mpi_sgd import serial
from mpi_sgd.first_step import first_gradient
from mpi_sgd.sync_cases import FIRST_STEP
from mpi_sgd.sync_proof import _assert_gradients_are_given as assert_gradients_are_given

from grader.api import Call, NotProven

from ...judge.build import samples_of_bytes, trace_of
from .outcomes import call, raising
from .test_sync_cases import BY_GROUP, RANKS, trained

RANDOM = np.random.default_rng(4)
CASE, OUTCOME = trained(group=FIRST_STEP, num_batches=lambda rank: BY_GROUP[FIRST_STEP].num_steps)
START = OUTCOME.inputs[0]["start"]
GRADIENTS = [
    serial.packed(first_gradient(CASE, OUTCOME, rank), CASE.sizes) for rank in range(RANKS)
]
STEPS = [START - CASE.learning_rate * gradient for gradient in GRADIENTS]
Form = Callable[[int], Sequence[Call]]


def gives(function: str, *arrays: Any, **more: Any) -> list[Call]:
    """Return calls by which a rank sends these arrays, or gives them to collectives."""
    raws = [np.asarray(array).tobytes() for array in arrays]
    return [
        replace(call(function, len(raw), peer=0), **{**samples_of_bytes(raw, RANDOM), **more})
        for raw in raws
    ]


def by_layer(values: serial.Vector) -> list[serial.Vector]:
    return list(serial.unpacked(values, CASE.sizes).values())


def check(form: Form) -> None:
    calls = [list(form(rank)) for rank in range(RANKS)]
    assert_gradients_are_given(CASE, replace(OUTCOME, trace=trace_of(calls)))


def in_place(rank: int) -> list[Call]:
    return [call("Allreduce", array.nbytes) for array in by_layer(START)]


def naive(rank: int) -> list[Call]:
    return gives("Isend", *by_layer(GRADIENTS[rank]) * (RANKS - 1))


def ring(rank: int) -> list[Call]:
    """Chunks of each array: the own one first, then sums with those of the ranks before."""
    sent = []
    for step in range(2 * (RANKS - 1)):
        those = [(rank - back) % RANKS for back in range(min(step, RANKS - 1) + 1)]
        whole = np.sum([GRADIENTS[other] for other in those], axis=0)
        sent += [np.array_split(array, RANKS)[(rank - step) % RANKS] for array in by_layer(whole)]
    return gives("Isend", *sent)


def tree(rank: int) -> list[Call]:
    """Rank 2 sends to rank 1, and this one the sum to rank 0, which hands out the total."""
    return gives("Send", np.sum(GRADIENTS[rank:], axis=0))


def averaging_in_a_tree(rank: int) -> list[Call]:
    return gives("Send", np.sum(STEPS[rank:], axis=0))


def one_by_one(values: serial.Vector, **more: Any) -> list[Call]:
    return gives("Allreduce", *(values[i : i + 1] for i in range(len(values))), **more)


def one_by_one_along_a_tree(rank: int) -> list[Call]:
    return [each for total in (GRADIENTS[rank], sum(GRADIENTS)) for each in one_by_one(total)]


def lists(rank: int) -> list[Call]:
    """Of a list three floats are shown, some of which may be zero."""
    values = GRADIENTS[rank]
    return gives("Send", values[-1:], values[[0, -1]], pickled=True, num_bytes=9 * len(values))


HONEST = [
    lambda rank: gives("Allreduce", *by_layer(GRADIENTS[rank])),
    lambda rank: gives("Allreduce", np.concatenate([[7.0, 1.0], GRADIENTS[rank] / 16])),
    *(in_place, naive, ring, tree, averaging_in_a_tree),
    lambda rank: gives("Allreduce", *by_layer(STEPS[rank])),
    lambda rank: gives("Allreduce", *by_layer(GRADIENTS[rank].astype("f4"))),
    lambda rank: gives("Allreduce", *by_layer(STEPS[rank].astype("f4"))),
    lambda rank: one_by_one(GRADIENTS[rank]),
    lambda rank: one_by_one(-0.3 * GRADIENTS[rank].astype("f4")),
    lambda rank: one_by_one(GRADIENTS[rank], pickled=True, num_bytes=113),
    *(one_by_one_along_a_tree, lists),
]


@pytest.mark.parametrize("form", HONEST)
def test_a_right_training_is_never_doubted(form: Form) -> None:
    check(form)


ZEROS = np.zeros_like(START)


def beside_zeros(*more: Call) -> Form:
    return lambda rank: [*gives("Allreduce", ZEROS), *more]


@pytest.mark.parametrize(
    "form",
    [
        *(beside_zeros(), beside_zeros(call("Send", 0, peer=0))),
        beside_zeros(call("Send", 4, peer=0, pickled=True)),
        beside_zeros(call("Allgatherv", 5, pickled=True)),
        lambda rank: gives("Allreduce", RANDOM.standard_normal(len(START))),
        lambda rank: gives("Allreduce", 1 + 1e-11 * RANDOM.standard_normal(len(START))),
        lambda rank: gives("Allreduce", *RANDOM.standard_normal((300, 3))),
        lambda rank: one_by_one(RANDOM.standard_normal(len(START))),
        lambda rank: [*one_by_one(GRADIENTS[rank][:30]), *gives("Allreduce", ZEROS)],
        lambda rank: gives("Allreduce", *[GRADIENTS[rank][:1]] * len(START)),
        lambda rank: gives("Allreduce", sum(GRADIENTS) - GRADIENTS[rank]),
        lambda rank: gives("Allreduce", START),
        lambda rank: [],
    ],
)
def test_what_is_for_show_proves_nothing(form: Form) -> None:
    with raising(NotProven, "evidence.gradients_not_given", ranks=(0, 1, 2)):
        check(form)


def test_one_rank_may_hand_out_what_came_of_all() -> None:
    check(lambda rank: gives("Bcast" if rank == 0 else "Send", GRADIENTS[rank]) if rank else [])
