"""Asynchronous fits: a simulated parameter server holds, its usual bugs are told."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mpi_sgd import async_cases, async_checks, serial
from mpi_sgd.async_checks import (
    assert_batches,
    assert_gradients_reach_a_master,
    assert_new_values_reach_the_workers,
    assert_no_gradient_is_lost,
    assert_rank_0_holds_the_result,
    assert_replays,
    assert_trained_as_one_process,
    slow_rank,
    uneven_trainings,
)
from mpi_sgd.async_rules import assert_others_went_on
from mpi_sgd.fit_cases import RTOL, Fit

from grader.api import Finding, Outcome, RuleViolation, RunFailed, WrongAnswer
from grader.grading_plugin.launch_results import make_launch
from grader.model.report import RunFailure, Verdict

from ...judge.build import outcome, trace_of
from .outcomes import call, inputs_of, raising

CASES = async_cases.cases_by_ranks()
EVERY_CASE = [
    (ranks, case)
    for ranks, cases in CASES.items()
    for case in cases
    if case.purpose in ("values", "slow worker")
]

NEVER = 1 << 60


def shares(case: Fit, num_workers: int) -> list[int]:
    share, rest = divmod(case.number_of_batches, num_workers)
    return [share + (worker < rest) for worker in range(num_workers)]


def serve(
    case: Fit,
    ranks: int,
    *,
    batches_of: Callable[[Fit, int], Sequence[int]] = shares,
    step_factor: float = 1.0,
    gathers: bool = True,
    seed: int = 0,
) -> Outcome:
    """Simulate one parameter server for all layers, workers arriving at random."""
    random = np.random.default_rng(seed)
    inputs = inputs_of(case, ranks)
    workers = range(case.num_masters, ranks)
    parameters = start = inputs[0]["start"]
    numbers = batches_of(case, len(workers))
    todo: dict[int, list[np.ndarray]] = {
        worker: [
            order[: case.mini_batch_size]
            for epoch in inputs[worker]["script"]
            for order in epoch[:number]
        ]
        for worker, number in zip(workers, numbers, strict=True)
    }
    held = dict.fromkeys(range(ranks), start)
    seen: dict[int, list[Any]] = {rank: [] for rank in range(ranks)}
    rows: dict[int, list[Any]] = {rank: [] for rank in range(ranks)}
    while any(todo.values()):
        worker = random.choice([worker for worker, left in todo.items() if left])
        batch = todo[worker].pop(0)
        data, labels = inputs[0]["data"][batch], inputs[0]["labels"][batch]
        gradient = serial.gradient(held[worker], case.sizes, data, labels)
        seen[worker].append(held[worker])
        rows[worker].append(batch)
        parameters = parameters - step_factor * case.learning_rate * gradient
        held[worker] = parameters
    held[0] = parameters if gathers else start
    results = [
        {
            **serial.unpacked(held[rank], case.sizes),
            "rows": np.array([row for batch in rows[rank] for row in batch], dtype=np.int64),
            "rows_per_batch": np.array([len(batch) for batch in rows[rank]], dtype=np.int64),
            "seen": np.array(seen[rank]).reshape(len(seen[rank]), len(start)),
            "passed": np.zeros(0, np.int64),
            "rows_per_call": np.zeros(0, np.int64),
            **({"released_ns": np.array([NEVER])} if "slow" in case.purpose else {}),
        }
        for rank in range(ranks)
    ]
    return outcome(case, inputs, results)


@pytest.mark.parametrize(
    ("ranks", "case"), EVERY_CASE, ids=lambda each: getattr(each, "label", str(each))
)
def test_a_right_server_holds_in_every_case(ranks: int, case: Fit) -> None:
    for seed in range(2):
        found = serve(case, ranks, seed=seed)
        assert_batches(case, found)
        assert_gradients_reach_a_master(case, found)
        assert_no_gradient_is_lost(case, found)
        assert_rank_0_holds_the_result(case, found)
        assert_rank_0_holds_the_result(case, found, "weights")
        assert_rank_0_holds_the_result(case, found, "biases")


def test_every_step_is_far_larger_than_the_tolerance() -> None:
    """Else two updates could change places unseen."""
    for ranks, case in EVERY_CASE:
        found = serve(case, ranks)
        for update in async_checks.updates_of(case, found):
            for name in case.shapes:
                step = case.learning_rate * np.abs(update.gradient[name]).max()
                assert step > 100 * RTOL, (case.label, name)


def test_every_worker_has_to_train() -> None:
    """One that does the others' batches shows nothing of training with several."""
    case = uneven()
    half = serve(case, 4, batches_of=lambda case, n: [case.number_of_batches - 4, 2, 2])
    assert_replays(case, half)
    alone = serve(case, 4, batches_of=lambda case, n: [case.number_of_batches, 0, 0])
    slow = next(case for case in CASES[4] if case.purpose == "slow worker")
    slow_alone = serve(slow, 4, batches_of=lambda case, n: [case.number_of_batches, 0, 0])
    for check, about, found, share in (
        (assert_replays, case, alone, 6),
        (assert_batches, case, alone, 6),
        (assert_others_went_on, slow, slow_alone, 9),
    ):
        with raising(WrongAnswer, "async.share_too_small", rank=2, trained=0, expected=share):
            check(about, found)


def uneven() -> Fit:
    return next(case for case in CASES[4] if case.group == async_cases.UNEVEN)


def test_a_floor_division_loses_batches() -> None:
    case = uneven()
    found = serve(case, 4, batches_of=lambda case, n: [case.number_of_batches // n] * n)
    with raising(WrongAnswer, "async.batches_left_out", trained=18, expected=22) as error:
        assert_batches(case, found)
    assert "(rank 1: 6, rank 2: 6, rank 3: 6)" in error.value.findings[0].text


@pytest.mark.parametrize(
    ("verdict", "keys"),
    [
        (Verdict.DEADLOCK, ["deadlock.returned", "async.uneven_batches"]),
        (Verdict.RUN_TIME_ERROR, ["deadlock.returned"]),
    ],
)
def test_uneven_shares_are_a_hint_where_ranks_wait_for_each_other(verdict, keys) -> None:
    failure = RunFailure.of(verdict, Finding("deadlock.returned", "Rank 0 waits for rank 1."))
    with pytest.raises(RunFailed) as error:
        uneven_trainings(make_launch([uneven()], [failure], 4))
    findings = error.value.failure.findings
    assert [each.key for each in findings] == keys
    assert error.value.failure.message.startswith(failure.message.removesuffix("."))
    if len(keys) > 1:
        assert error.value.failure.message.endswith(f"; {findings[1]}")
        assert findings[1].facts == {"batches": 11, "workers": 3}


def test_gradients_that_reach_nobody_are_told() -> None:
    case = next(case for case in CASES[4] if case.purpose == "slow worker")
    found = serve(case, 4, gathers=False)
    with raising(WrongAnswer, "async.no_gradient_reaches_a_master"):
        assert_gradients_reach_a_master(case, found)
    alone = serve(case, 4, batches_of=lambda case, n: [case.number_of_batches, 0, 0])
    given = [{**given, "is_slow": rank == 1} for rank, given in enumerate(alone.inputs)]
    alone = replace(alone, inputs=tuple(given))
    with raising(WrongAnswer, "async.worker_without_new_values", rank=1):
        assert_new_values_reach_the_workers(case, alone)


def test_no_batch_at_all_is_no_training() -> None:
    case = uneven()
    found = serve(case, 4, batches_of=lambda case, n: [0] * n)
    for check in (assert_no_gradient_is_lost, assert_replays, assert_rank_0_holds_the_result):
        with raising(WrongAnswer, "async.no_batch"):
            check(case, found)


def test_a_request_that_was_dropped_comes_before_what_it_led_to() -> None:
    case = uneven()
    pending = replace(call("Isend", 80, peer=1, line=9), completed_ns=0)
    found = replace(serve(case, 4, step_factor=1 / 3), trace=trace_of([[pending], [], [], []]))
    keys = "fit.request_dropped", "async.scaled_step"
    with raising(WrongAnswer, *keys, rank=0, call="Isend", place="sync_network.py:9"):
        assert_replays(case, found)


def test_averaging_over_the_workers_is_told_by_its_factor() -> None:
    case = uneven()
    with raising(WrongAnswer, "async.scaled_step", factor=-0.333333):
        assert_replays(case, serve(case, 4, step_factor=1 / 3))


def test_scaled_steps_cost_nothing_at_the_end_of_training() -> None:
    case = uneven()
    found = serve(case, 4, step_factor=1 / 3)
    assert_rank_0_holds_the_result(case, found, "weights")
    assert_rank_0_holds_the_result(case, found, "biases")
    found = serve(case, 4, step_factor=1 / 3, gathers=False)
    with raising(WrongAnswer, "async.final_values_missing", name="weights[1]"):
        assert_rank_0_holds_the_result(case, found, "weights")


def test_without_the_final_gather_only_rank_0_is_wrong() -> None:
    case = uneven()
    found = serve(case, 4, gathers=False)
    assert_replays(case, found)
    for kinds, name in (("", "weights"), ("weights", "weights"), ("biases", "biases")):
        with raising(WrongAnswer, "async.final_values_missing", name=f"{name}[1]"):
            assert_rank_0_holds_the_result(case, found, kinds)


@pytest.mark.parametrize(
    ("workers", "holds"),
    [
        ((*8 * (1, 2), 3), True),
        ((*8 * (1,), *7 * (2,), 3, 2), False),
        ((3, *8 * (1, 2)), False),
        (10 * (1,), False),
        (8 * (1, 2), True),
        ((*9 * (1, 2), 3, 1, 2), True),
        ((*24 * (1, 2), 3, *3 * (1, 2)), True),  # a gradient, and the weights twice
        ((*72 * (1, 2), 3, *8 * (1, 2)), False),
        (9 * (*9 * (1, 2), 3), False),
    ],
)
def test_only_a_server_that_waits_for_the_slow_worker_is_blamed(workers, holds: bool) -> None:
    """By whose gradients it got when: rank 3 is the slow one."""
    _, case = (case for case in CASES[4] if case.purpose == "slow worker")
    came = [(worker, number) for number, worker in enumerate(workers, 1)]
    trace = trace_of([received(case, came), [], [], []])
    found = replace(serve(case, 4), trace=trace)
    if holds:
        assert_others_went_on(case, found)
    else:
        with raising(RuleViolation, "async.fixed_order", "async.others_held_up", rank=3):
            assert_others_went_on(case, found)


def received(case: Fit, batches: Sequence[tuple[int, int]]) -> list[Any]:
    """Return the receives of a master: of each batch the worker, and when it had come."""
    num_bytes = 8 * serial.num_parameters(case.sizes)
    return [
        replace(
            call("Recv", num_bytes),
            is_receive=True,
            matched_source=worker,
            received_num_bytes=num_bytes,
            completed_ns=time_ns,
        )
        for worker, time_ns in batches
    ]


@pytest.mark.parametrize("released_ns", [1000, NEVER])
@pytest.mark.parametrize("is_held_up", [False, True])
def test_a_server_is_blamed_for_a_worker_that_is_slow_later(is_held_up, released_ns) -> None:
    """Also where the moment of its release is not what it was."""
    (case,) = (case for case in CASES[4] if case.purpose == "later slow worker")
    found = serve(case, 4)
    given = found.inputs[0]
    slow, held, reached = slow_rank(found), given["held_batch"], given["reached_batch"]
    assert 0 < held < reached - 7
    rounds = [(worker, 10 * number) for number in range(1, held + 1) for worker in (1, 2, 3)]
    while_held = [(worker, 900) for worker in {1, 2, 3} - {slow} for _ in range(reached - held)]
    number = len(found["rows_per_batch"][slow])
    done = {worker: held if worker == slow or is_held_up else reached for worker in (1, 2, 3)}
    later = [(worker, 2000 + each) for worker in done for each in range(number - done[worker])]
    batches = [*rounds, *([] if is_held_up else while_held), *later]
    trace = trace_of([received(case, batches), [], [], []])
    found = replace(found, trace=trace)
    found["released_ns"][slow][0] = released_ns
    if is_held_up:
        with raising(RuleViolation, "async.fixed_order", "async.others_held_up", rank=slow):
            assert_others_went_on(case, found)
    else:
        assert_others_went_on(case, found)


@pytest.mark.parametrize("number", [0, 1])
def test_a_worker_that_was_not_held_says_nothing_in_its_backward_pass(number: int) -> None:
    """It may compute gradients by itself; the last worker is held in forward_prop."""
    case = [case for case in CASES[4] if case.purpose == "slow worker"][number]
    found = serve(case, 4)
    came = [(worker, 1 + turn) for turn in range(9) for worker in (1, 2, 3)]
    found = replace(found, trace=trace_of([received(case, came), [], [], []]))
    found.results[slow_rank(found)]["released_ns"] = np.zeros(0, np.int64)
    assert (found.inputs[0]["held_product"] > case.num_forward_products) == (number == 0)
    if number == 0:
        assert_others_went_on(case, found)
    else:
        with raising(RuleViolation, "async.fixed_order", "async.others_held_up", rank=3):
            assert_others_went_on(case, found)


def test_only_the_slow_worker_is_told_that_it_is_slow() -> None:
    """A master that knew could take the slow worker last, and the others in a fixed order."""
    for case in CASES[4]:
        if "slow" in case.purpose:
            is_slow = [given.pop("is_slow") for given in inputs_of(case, 4)]
            assert sum(is_slow) == 1
            assert is_slow.index(True) >= case.num_masters


def test_weights_are_recorded_beside_a_slow_worker() -> None:
    """Without them nobody could tell a batch that a master got from one that is made up."""
    case = next(case for case in CASES[4] if case.purpose == "slow worker")
    assert all(given["record_weights"] for given in inputs_of(case, 4))
    assert case.results(1, 4)["seen"].shape == (None, serial.num_parameters(case.sizes))
    found = serve(case, 4, batches_of=lambda case, n: [18, 18, 10])
    with raising(WrongAnswer, "async.batches_more_than_once", trained=46, expected=27) as error:
        assert_batches(case, found)
    assert "(rank 1: 18, rank 2: 18, rank 3: 10)" in error.value.findings[0].text


def test_a_single_worker_goes_the_way_of_one_process() -> None:
    (case,) = (case for case in CASES[2] if case.purpose == "values")
    assert_trained_as_one_process(case, serve(case, 2))
    keys = "async.unlike_serial_training", "value.differs"
    with raising(WrongAnswer, *keys, name="weights[1]") as error:
        assert_trained_as_one_process(case, serve(case, 2, step_factor=0.9))
    assert "rank 0: weights[1]" in error.value.findings[1].text


@pytest.mark.parametrize("ranks", CASES)
def test_labels_differ_and_masters_leave_workers(ranks: int) -> None:
    labels = [case.label for case in CASES[ranks]]
    assert len(set(labels)) == len(labels)
    assert all(1 <= case.num_masters < ranks for case in CASES[ranks])


def test_masters_and_shares_are_covered() -> None:
    shapes = {(case.num_masters, ranks - case.num_masters) for ranks, case in EVERY_CASE}
    assert {masters for masters, _ in shapes} == {1, 2, 4}
    assert {1, 2, 3, 4, 7, 12, 15} <= {workers for _, workers in shapes}
    left_over = [
        case for ranks, case in EVERY_CASE if min(shares(case, ranks - case.num_masters)) == 0
    ]
    assert left_over, "no case has more workers than batches"


def test_masters_begin_late_and_workers_pause_as_the_case_and_the_seed_say() -> None:
    """So that the order in which messages can be received is not the machine's."""
    for ranks, case in EVERY_CASE:
        if case.purpose != "values":
            continue
        pauses = [given["pauses_s"] for given in inputs_of(case, ranks)]
        assert pauses == [given["pauses_s"] for given in inputs_of(case, ranks)]
        assert all(each == [each[0]] and each[0] > 0 for each in pauses[: case.num_masters])
        assert all(len(each) == 1 + case.num_steps for each in pauses[case.num_masters :])
