"""The replay accepts every order a right parameter server can take, and names what goes wrong."""

from collections.abc import Callable, Sequence
from dataclasses import replace as changed

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi_sgd.replay import assert_final, replay
from mpi_sgd.updates import Update, Value

from grader.api import WrongAnswer

from .outcomes import raising

LEARNING_RATE = 0.3
RTOL = 1e-9
START = {"weights[1]": np.linspace(-1, 1, 6).reshape(2, 3), "biases[1]": np.array([0.1, 0.2, 0.3])}


def gradient(rank: int, batch: int, name: str, seen: Value) -> Value:
    """A gradient that depends on what the worker saw, as a network's does."""
    random = np.random.default_rng([rank, batch, len(name)])
    return 0.5 * seen + random.standard_normal(seen.shape)


def serve(
    arrivals: Sequence[int],
    start: dict[str, Value] = START,
    step: Callable[[Value, Value], Value] = lambda value, dw: value - LEARNING_RATE * dw,
    reply: Callable[[Value, Value], Value] = lambda old, new: new,
) -> tuple[list[Update], dict[str, Value]]:
    """Run a parameter server whose gradients arrive from these workers in this order."""
    values = {name: array.copy() for name, array in start.items()}
    held = {worker: dict(values) for worker in set(arrivals)}
    done = dict.fromkeys(held, 0)
    updates = []
    for worker in arrivals:
        before = held[worker]
        found = {n: gradient(worker, done[worker], n, seen) for n, seen in before.items()}
        after = {}
        for name, dw in found.items():
            old, values[name] = values[name], step(values[name], dw)
            after[name] = reply(old, values[name])
        updates.append(Update(worker, done[worker], before, found, after))
        held[worker] = after
        done[worker] += 1
    return updates, values


def by_worker(updates: Sequence[Update]) -> list[Update]:
    """Return updates as the judge gets them: per worker, without their order in between."""
    return sorted(updates, key=lambda update: (update.rank, update.batch))


def replayed(
    updates: Sequence[Update], final: dict[str, Value] | None = None
) -> dict[str, list[Value]]:
    return replay(START, by_worker(updates), LEARNING_RATE, rtol=RTOL, final=final)


@given(st.lists(st.integers(1, 5), max_size=30))
def test_any_order_of_arrival_is_found_again(arrivals: list[int]) -> None:
    updates, final = serve(arrivals)
    found = replayed(updates, final)
    assert_final(found, final, rtol=RTOL)
    for name, chain in found.items():
        assert len(chain) == len(arrivals) + 1
        for value, update in zip(chain[1:], updates, strict=True):
            np.testing.assert_array_equal(value, update.after[name])


def test_layers_may_take_the_workers_in_different_orders() -> None:
    first, final = serve([1, 2, 1, 2], {"weights[1]": START["weights[1]"]})
    second, other = serve([2, 1, 2, 1], {"biases[1]": START["biases[1]"]})
    merged = [
        Update(a.rank, a.batch, a.before | b.before, a.gradient | b.gradient, a.after | b.after)
        for a, b in zip(by_worker(first), by_worker(second), strict=True)
    ]
    assert_final(replayed(merged), final | other, rtol=RTOL)


def test_no_batches_leave_the_start() -> None:
    assert_final(replayed([]), START, rtol=RTOL)


def test_replies_sent_before_the_step_are_named() -> None:
    updates, final = serve([1, 2, 1, 2], reply=lambda old, new: old)
    with raising(WrongAnswer, "async.reply_before_step", rank=1, batch=0, name="weights[1]"):
        replayed(updates, final)


def test_a_reply_without_the_workers_own_gradients_is_named() -> None:
    updates, final = serve([1, 2])
    updates[1] = changed(updates[1], after=updates[0].after)
    with raising(WrongAnswer, "async.reply_without_gradients", name="weights[1]"):
        replayed(updates, final)


def test_a_worker_that_ignores_the_reply_is_named() -> None:
    updates, final = serve([1, 2])
    updates[1] = changed(updates[1], after=updates[1].before)
    with raising(WrongAnswer, "async.reply_before_step", rank=2, batch=0, name="weights[1]"):
        replayed(updates, final)


def test_a_late_reply_is_an_order_that_is_wrong_while_the_sum_is_right() -> None:
    updates, final = serve([1, 2, 3])
    updates[0] = changed(updates[0], after=updates[1].after)
    updates[1] = changed(updates[1], after=updates[1].after)
    keys = "async.late_reply", "async.only_order_wrong", "async.seen_at_update"
    with raising(WrongAnswer, *keys, rank=1, other=2) as error:
        replayed(updates, final)
    late, _, place = error.value.findings
    assert "contained the gradients of rank 2's batch 0" in late.text
    assert place.facts == {"number": 1, "name": "weights[1]"}


def test_steps_from_a_stale_value_are_named() -> None:
    updates, final = serve([1, 2, 3])
    stepped = {n: START[n] - LEARNING_RATE * updates[2].gradient[n] for n in START}
    updates[2] = changed(updates[2], after=stepped)
    facts = {"rank": 3, "batch": 0, "number": 0}
    with raising(WrongAnswer, "async.step_from_old_value", **facts) as error:
        replayed(updates, final)
    assert "from the start value" in error.value.findings[0].text


def test_a_mixture_of_two_workers_messages_is_named() -> None:
    updates, _ = serve([1, 2, 1, 2])
    swapped = {**updates[0].gradient, "biases[1]": updates[1].gradient["biases[1]"]}
    mixed = START["biases[1]"] - LEARNING_RATE * swapped["biases[1]"]
    updates[0] = changed(updates[0], after=updates[0].after | {"biases[1]": mixed})
    with raising(WrongAnswer, "async.gradients_mixed_up", name="biases[1]", other=2):
        replayed(updates[:2])


@pytest.mark.parametrize("factor", [0.5, -1.0])
def test_a_scaled_step_is_named_with_its_factor(factor: float) -> None:
    updates, final = serve([1, 2, 3, 1], step=lambda value, dw: value - factor * 0.3 * dw)
    with raising(WrongAnswer, "async.scaled_step", factor=-factor):
        replayed(updates, final)


def test_a_batch_computed_on_other_start_weights_is_named() -> None:
    updates, final = serve([1, 2])
    moved = {name: array + 1 for name, array in START.items()}
    updates[1] = changed(updates[1], before=moved)
    with raising(WrongAnswer, "async.other_start", rank=2, name="weights[1]"):
        replayed(updates, final)


def test_gradients_lost_on_the_way_are_told_from_the_sum() -> None:
    updates, _ = serve([1, 1, 2])
    without, final = serve([1, 1])
    lost = changed(updates[2], after={n: array + 0.01 for n, array in without[1].after.items()})
    with raising(WrongAnswer, "async.no_such_step", "async.one_batch_lost", ranks=(2,)):
        replayed([*without, lost], final)


def test_gradients_applied_twice_are_told_from_the_sum() -> None:
    updates, final = serve([1, 1])
    twice = {n: final[n] - LEARNING_RATE * updates[1].gradient[n] for n in final}
    updates[1] = changed(updates[1], after=twice)
    with raising(WrongAnswer, "async.scaled_step", "async.one_batch_twice"):
        replayed(updates, twice)


def test_values_that_are_not_numbers_never_fit() -> None:
    updates, final = serve([1])
    broken = {n: np.full_like(array, np.nan) for n, array in final.items()}
    with raising(WrongAnswer, "async.no_such_step"):
        replayed([changed(updates[0], after=broken)], final)


def test_rank_0_without_the_final_gather_still_holds_the_start() -> None:
    updates, final = serve([1, 2, 1])
    held = final | {"biases[1]": START["biases[1]"]}
    with raising(WrongAnswer, "async.final_values_missing", name="biases[1]") as error:
        assert_final(replayed(updates), held, rtol=RTOL)
    assert "3 updates" in error.value.findings[0].text


def test_rank_0_with_an_earlier_value_is_told_which() -> None:
    updates, final = serve([1, 2, 1])
    held = final | {"weights[1]": updates[1].after["weights[1]"]}
    facts = {"name": "weights[1]", "number": 2}
    with raising(WrongAnswer, "async.final_values_outdated", **facts) as error:
        assert_final(replayed(updates), held, rtol=RTOL)
    assert "update 2 of 3" in error.value.findings[0].text


def test_rank_0_with_another_value_is_told_the_element() -> None:
    updates, final = serve([1, 2, 1])
    held = {name: array.copy() for name, array in final.items()}
    held["weights[1]"][1, 2] += 1e-3
    keys = "async.final_values_wrong", "value.differs"
    with raising(WrongAnswer, *keys, name="weights[1]") as error:
        assert_final(replayed(updates), held, rtol=RTOL)
    assert "rank 0: weights[1][1, 2] is" in error.value.findings[1].text
    assert "to rank 0" in error.value.findings[0].help
