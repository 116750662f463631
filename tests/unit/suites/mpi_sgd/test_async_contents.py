"""Contents of asynchronous trainings: gradients and values in any form, and what is for show."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from mpi_sgd import async_cases, serial
from mpi_sgd.async_checks import updates_of
from mpi_sgd.async_contents import assert_contents, assert_masters_own_layers
from mpi_sgd.fit_cases import Fit

from grader.api import Call, NotProven, Outcome, RuleViolation

from ...judge.build import samples_of_bytes, trace_of
from .outcomes import call, raising
from .test_async_cases import serve

CASE = next(
    case for case in async_cases.cases_by_ranks()[4] if case.group == async_cases.ONE_MASTER
)
RANKS = 4
RANDOM = np.random.default_rng(3)
Arrays = list[serial.Vector]
Shown = Callable[[serial.Vector], Sequence[Any]]


def by_array(values: serial.Vector) -> Arrays:
    return list(serial.unpacked(values, CASE.sizes).values())


def packed(values: serial.Vector) -> Arrays:
    return [np.concatenate([[7.0, 1.0], values])]


def sent(arrays: Sequence[Any], peer: int, function: str = "Isend") -> list[Call]:
    raws = [np.asarray(array).tobytes() for array in arrays]
    return [
        replace(call(function, len(raw), peer=peer), **samples_of_bytes(raw, RANDOM))
        for raw in raws
    ]


def training(
    gradients: Shown,
    values: Shown,
    *,
    as_changes: bool = False,
    step_factor: float = 1.0,
    by: tuple[str, str] = ("Isend", "Isend"),
    beside: Sequence[Call] = (),
) -> Outcome:
    """Return a training whose messages hold what is shown of gradients and new values.

    by: the functions that give these. beside: what each worker calls first.
    """
    found = serve(CASE, RANKS, step_factor=step_factor)
    made: list[list[Call]] = [[], *([*beside] for _ in range(1, RANKS))]
    updates = updates_of(CASE, found)
    for worker in range(1, RANKS):
        own = [each for each in updates if each.rank == worker]
        for update in own:
            made[worker] += sent(gradients(serial.packed(update.gradient, CASE.sizes)), 0, by[0])
        for one, other in pairwise(own):
            old, new = (serial.packed(each.before, CASE.sizes) for each in (one, other))
            made[0] += sent(values(new - old if as_changes else new), worker, by[1])
    # Time goes on from call to call.
    numbered = [
        [replace(each, entered_ns=number + 1) for number, each in enumerate(calls)]
        for calls in made
    ]
    return replace(found, trace=trace_of(numbered))


@pytest.mark.parametrize("form", [by_array, packed])
@pytest.mark.parametrize("factor", [1, -CASE.learning_rate, 1 / 8])
@pytest.mark.parametrize("as_changes", [False, True])
def test_a_right_training_is_never_doubted(form: Shown, factor: float, as_changes: bool) -> None:
    found = training(lambda gradient: form(factor * gradient), form, as_changes=as_changes)
    assert_contents(CASE, found, is_right=True)


TWO = next(
    case for case in async_cases.cases_by_ranks()[4] if case.group == async_cases.TWO_MASTERS
)


def served_by(masters: int, shown: Shown) -> tuple[Fit, Outcome]:
    """Return a training in which master 0 has all layers; all exchange what is shown of layer 4."""
    case = replace(TWO, num_masters=masters)
    found = serve(case, RANKS + masters)
    made: list[list[Call]] = [[] for _ in range(RANKS + masters)]
    for update in updates_of(case, found):
        for arrays, source, targets in (
            (update.gradient, update.rank, range(masters)),
            (update.after, None, range(masters)),
        ):
            for master in targets:
                last = [each for name, each in arrays.items() if "[4]" in name]
                values = (
                    [*arrays.values()]
                    if not master
                    else shown(np.concatenate([each.ravel() for each in last]))
                )
                there = master if source is not None else update.rank
                made[master if source is None else source] += sent(values, there)
    numbered = [
        [replace(each, entered_ns=number + 1) for number, each in enumerate(calls)]
        for calls in made
    ]
    return case, replace(found, trace=trace_of(numbered))


def test_a_master_without_layers_is_told_by_what_its_messages_hold() -> None:
    """Of two masters both have some, of more all but one."""
    assert_masters_own_layers(*served_by(2, lambda last: [last]))
    assert_masters_own_layers(*served_by(4, lambda last: [last]))
    for masters in (2, 4):
        case, found = served_by(masters, lambda last: [np.zeros_like(last)])
        with raising(RuleViolation, "layers.master_without_layers", rank=1, num_masters=masters):
            assert_masters_own_layers(case, found)
    assert_masters_own_layers(TWO, replace(found, trace=trace_of([[]] * found.ranks)))


@pytest.mark.parametrize("form", [by_array, packed])
def test_one_gradient_is_enough_of_a_wrong_one(form: Shown) -> None:
    found = training(form, lambda values: [np.zeros(4)], step_factor=2.0)
    assert_contents(CASE, found, is_right=False)


def in_float32(values: serial.Vector) -> Arrays:
    return [array.astype("f4") for array in by_array(values)]


def test_float32_and_collectives_are_not_doubted_either() -> None:
    assert_contents(CASE, training(in_float32, in_float32, step_factor=2.0), is_right=False)
    collectives = training(by_array, by_array, by=("Gather", "Bcast"))
    assert_contents(CASE, collectives, is_right=True)
    in_place = [call("Allreduce", 8 * serial.num_parameters(CASE.sizes))]
    assert_contents(CASE, training(zeros, zeros, beside=in_place), is_right=False)


def zeros(values: serial.Vector) -> Arrays:
    return [np.zeros_like(array) for array in by_array(values)]


def noise(values: serial.Vector) -> Arrays:
    return [RANDOM.standard_normal(array.shape) for array in by_array(values)]


def sparse(values: serial.Vector) -> Arrays:
    """Return arrays that are true at their first, middle and last number."""
    shown = zeros(values)
    for array, true in zip(shown, by_array(values), strict=True):
        places = [0, array.size // 2, -1]
        array.reshape(-1)[places] = true.reshape(-1)[places]
    return shown


@pytest.mark.parametrize(
    ("show", "is_right"),
    [(zeros, True), (noise, True), (sparse, True), (zeros, False), (noise, False)],
)
def test_messages_for_show_prove_nothing(show: Shown, is_right: bool) -> None:
    with raising(NotProven, "evidence.training_not_sent", rank=1):
        assert_contents(CASE, training(show, by_array), is_right=is_right)


@pytest.mark.parametrize("show", [zeros, noise, sparse])
def test_nor_do_replies_for_show(show: Shown) -> None:
    with raising(NotProven, "evidence.training_not_sent", rank=1):
        assert_contents(CASE, training(by_array, show), is_right=True)


@pytest.mark.parametrize(
    "beside", [call("Win_create", 0), call("Isend", 10**6, peer=0, pickled=True)]
)
@pytest.mark.parametrize("by", ["Isend", "Gather"])
def test_nor_does_a_window_or_a_pickle_without_numbers(beside: Call, by: str) -> None:
    found = training(zeros, zeros, by=(by, by), beside=[beside])
    for is_right in (True, False):
        with raising(NotProven, "evidence.training_not_sent", rank=1):
            assert_contents(CASE, found, is_right=is_right)
