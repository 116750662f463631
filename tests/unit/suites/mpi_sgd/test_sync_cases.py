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
    assert_every_rank_gets_all_gradients,
    assert_gradients_are_used,
    assert_not_rounded,
    assert_trained_as_long_as_drawn,
    assert_trained_as_one_process,
    cases_by_ranks,
    launch_of,
)

from grader.api import Launch, Outcome, RunFailure, Verdict, WrongAnswer
from grader.grading_plugin.launch_results import make_launch

from ...judge.build import outcome, trace_of
from .outcomes import call, inputs_of, raising

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
        given["script"].reshape(-1, len(given["data"]))[: num_batches(rank), :batch_size]
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
                "passed": np.zeros(0, np.int64),
                "rows_per_call": np.zeros(0, np.int64),
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
    return [given["script"].reshape(-1, len(given["data"]))[:, :SHARE] for given in inputs]


@pytest.mark.parametrize("group", [FIRST_STEP, SEVERAL_STEPS])
def test_the_sum_over_all_ranks_is_right(group: str) -> None:
    case, found = trained(group=group, num_batches=lambda rank: BY_GROUP[group].num_steps)
    assert_trained_as_one_process(case, found)
    assert_gradients_are_used(case, found)
    assert_batches(case, found)


def rounded(rank: int, inputs: Inputs) -> serial.Vector:
    return stepped(scripted(inputs), inputs).astype(np.float32).astype(np.float64)


def test_rounding_to_float32_is_a_mistake_of_its_own() -> None:
    """It costs the test of its own only: the training is right otherwise."""
    case, found = trained(rounded)
    assert_trained_as_one_process(case, found)
    with raising(WrongAnswer, "sync.rounded", "value.differs", rank=0, name="weights[1]"):
        assert_not_rounded(case, found)
    assert_not_rounded(*trained())


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
    ("parameters", "key", "rank"),
    [
        (start, "sync.no_step", 0),
        (mean, "sync.mean", 0),
        (own, "sync.own_gradients_only", 0),
        (kept, "sync.sums_kept", 0),
        (only_rank_0, "sync.no_step", 1),
        (without_rank_1, "sync.unlike_serial_training", 0),
    ],
)
def test_known_mistakes_of_several_steps_are_told(parameters, key: str, rank: int) -> None:
    case, found = trained(parameters)
    with raising(WrongAnswer, key, "value.differs", rank=rank):
        assert_trained_as_one_process(case, found)


def few_together(rank: int, inputs: Inputs) -> serial.Vector:
    rows = scripted(inputs)
    alone = [np.concatenate([other[:9], rows[rank][9:]]) for other in rows]
    return stepped(alone, inputs)


@pytest.mark.parametrize(("parameters", "holds"), [(None, True), (few_together, False)])
def test_gradients_are_summed_for_as_long_as_a_training_lasts(parameters, holds: bool) -> None:
    """Calls that are not kept change nothing."""
    case, found = trained(parameters, group="", num_batches=lambda rank: BY_GROUP[""].num_steps)
    trace = trace_of([[], [], []])
    cut = tuple(replace(seen, truncated=True) for seen in trace.ranks)
    found = replace(found, trace=replace(trace, ranks=cut))
    if holds:
        assert_trained_as_long_as_drawn(case, found)
    else:
        with raising(WrongAnswer, "sync.unlike_serial_training", "sync.drawn_length"):
            assert_trained_as_long_as_drawn(case, found)


@pytest.mark.parametrize(("ranks", "most"), [(2, 630), (3, 60), (4, 60)])
def test_a_drawn_length_differs_and_is_bounded(ranks: int, most: int) -> None:
    (case,) = (case for case in CASES[ranks] if case.purpose == "drawn length")
    lengths = []
    for seed in range(20):
        given = inputs_of(case, ranks, seed)[0]
        assert given["script"].shape[:2] == (given["epochs"], given["number_of_batches"])
        lengths.append(given["epochs"] * given["number_of_batches"])
    assert min(lengths) > (150 if ranks == 2 else 8)
    assert most / 2 < max(lengths) <= case.num_steps == most
    assert len(set(lengths)) > 8


def test_a_request_that_was_dropped_comes_before_a_mistake() -> None:
    case, found = trained(mean)
    pending = replace(call("Iallreduce", 80, line=9), completed_ns=0)
    found = replace(found, trace=trace_of([[pending], [], []]))
    with raising(WrongAnswer, "fit.request_dropped", "sync.mean", "value.differs", rank=0):
        assert_trained_as_one_process(case, found)


@pytest.mark.parametrize(
    ("parameters", "key", "facts", "come_together"),
    [
        (start, "step.no_change", {"rank": 0, "name": "weights[1]"}, False),
        (mean, "step.mean", {"name": "weights[1]"}, True),
        (lambda r, i: stepped(scripted(i), i, RANKS), "step.summed_twice", {}, True),
        (lambda r, i: stepped(scripted(i), i, -1), "step.wrong_direction", {}, True),
        (lambda r, i: stepped(scripted(i), i, 0.5), "step.multiple_of_sum", {"factor": 0.5}, True),
        (own, "step.own_gradients_only", {}, False),
        (without_rank_1, "step.other_sum", {}, False),
        (only_rank_0, "step.no_change", {"rank": 1, "name": "weights[1]"}, True),
        (biases_for_weights, "step.biases_for_weights", {"name": "weights[1]"}, True),
        (lambda r, i: np.full_like(i[0]["start"], np.nan), "step.not_finite", {}, False),
        (
            lambda r, i: i[0]["start"] + np.arange(len(i[0]["start"])) % 7,
            "step.no_sum_of_gradients",
            {},
            False,
        ),
    ],
)
def test_what_a_first_step_is_made_of_is_told(parameters, key, facts, come_together) -> None:
    """A step in equal parts that is not the sum still shows that the gradients came together."""
    case, found = trained(parameters, FIRST_STEP, num_batches=lambda rank: 1)
    with raising(WrongAnswer, key, "value.differs", **facts) as error:
        assert_trained_as_one_process(case, found)
    told = {
        "step.other_sum": "of rank 0 twice, of rank 1 not at all, and of rank 2 once",
        "step.summed_twice": "3 times the sum of all ranks' gradients",
        "step.biases_for_weights": "biases[1]",
    }
    assert told.get(key, "") in error.value.findings[0].text
    if come_together:
        assert_gradients_are_used(case, found)
    else:
        with raising(WrongAnswer, key, "step.gradients_not_combined"):
            assert_gradients_are_used(case, found)


@pytest.mark.parametrize(("parameters", "holds"), [(mean, True), (only_rank_0, False)])
def test_every_rank_gets_all_gradients_or_not(parameters, holds: bool) -> None:
    case, found = trained(parameters, FIRST_STEP, num_batches=lambda rank: 1)
    if holds:
        assert_every_rank_gets_all_gradients(case, found)
    else:
        with raising(WrongAnswer, "step.no_change", rank=1):
            assert_every_rank_gets_all_gradients(case, found)


@pytest.mark.parametrize(
    ("calls", "is_told"),
    [([call("Reduce", 8, peer=0, line=9)], True), ([call("Allreduce", 8)], False)],
)
def test_a_reduce_to_one_rank_is_named_where_the_others_have_nothing(calls, is_told) -> None:
    case, found = trained(only_rank_0, FIRST_STEP, num_batches=lambda rank: 1)
    found = replace(found, trace=trace_of([calls] * RANKS))
    facts = {"call": "Reduce", "root": 0, "place": "sync_network.py:9"} if is_told else {}
    keys = ["step.reduced_to_one_rank"] * is_told + ["step.no_change"]
    with raising(WrongAnswer, *keys, **facts):
        assert_every_rank_gets_all_gradients(case, found)


@pytest.mark.parametrize("parameters", [None, mean, only_rank_0])
def test_a_step_is_compared_with_the_ordinary_one_element_by_element(parameters) -> None:
    """A message that was altered changes one number in an array."""
    case, ordinary = trained(parameters, FIRST_STEP, num_batches=lambda rank: 1)
    check = same_contributions_as(case, ordinary)
    check(case, ordinary)
    moved = outcome(case, ordinary.inputs, [dict(result) for result in ordinary.results])
    moved["weights[2]"][0][1, 1] += 1e-3
    with raising(WrongAnswer, "step.not_as_before", rank=0, name="weights[2]"):
        check(case, moved)


@pytest.mark.parametrize(
    ("verdict", "answers_longer", "num_steps"),
    [
        (Verdict.RUN_TIME_ERROR, True, 100),
        (Verdict.RUN_TIME_ERROR, False, 1),
        (Verdict.DEADLOCK, True, 1),
    ],
)
def test_where_a_first_step_raises_a_hundred_stand_for_it(verdict, answers_longer, num_steps):
    failure = RunFailure(verdict, "integer division by zero")
    _, answered = trained(group=FIRST_STEP)

    def run(ranks: int, cases: Sequence[Fit]) -> Launch:
        is_longer = len(cases) == 1
        return make_launch(cases, [answered if is_longer and answers_longer else failure] * 4, 3)

    ((case, _),) = launch_of(run, CASES, RANKS, FIRST_STEP).answers()
    assert case.num_steps == num_steps


def test_a_wrong_array_is_named_with_rank_and_place() -> None:
    def moved(rank: int, inputs: Inputs) -> serial.Vector:
        right = stepped(scripted(inputs), inputs)
        right[-1] += 1e-5 * (rank == 2)
        return right

    case, found = trained(moved)
    with raising(WrongAnswer, "sync.unlike_serial_training", rank=2, name="biases[2]") as error:
        assert_trained_as_one_process(case, found)
    assert error.value.case.startswith("3 ranks, layers 64-32-10")
    assert "rank 2: biases[2][9]" in error.value.findings[1].text


def test_different_numbers_of_batches_have_their_own_message() -> None:
    case, found = trained(num_batches=lambda rank: 3 if rank else 2)
    with raising(WrongAnswer, "sync.unequal_numbers_of_batches", numbers=(2, 3, 3)) as error:
        assert_trained_as_one_process(case, found)
    assert "rank 0: 2, rank 1: 3, rank 2: 3" in error.value.findings[0].text
    with raising(WrongAnswer, "sync.number_of_batches", rank=0, trained=2, expected=3):
        assert_batches(case, found)


def test_the_same_batch_in_all_steps_is_told() -> None:
    def first_batch(rows: np.ndarray) -> np.ndarray:
        return np.tile(rows[:SHARE], len(rows) // SHARE)

    case, found = trained(mark=first_batch)
    facts = {"rank": 0, "different": 1, "steps": 3}
    with raising(WrongAnswer, "fit.same_batch", **facts):
        assert_batches(case, found)


def test_whole_batches_on_every_rank_are_told() -> None:
    case, found = trained(batch_size=16)
    facts = {"rank": 0, "batch": 0, "examples": 16, "expected": 5}
    with raising(WrongAnswer, "fit.batch_size", **facts) as error:
        assert_batches(case, found)
    assert "(mini_batch_size // size = 16 // 3)" in error.value.findings[0].text


def test_no_training_at_all_is_told() -> None:
    case, found = trained(num_batches=lambda rank: 0)
    with raising(WrongAnswer, "sync.no_training"):
        assert_trained_as_one_process(case, found)


def test_inputs_of_the_students_own_making_are_told() -> None:
    case, found = trained(mark=lambda rows: np.where(rows == rows[0], -1, rows))
    with raising(WrongAnswer, "fit.inputs_not_of_training_data", rank=0):
        assert_trained_as_one_process(case, found)


@pytest.mark.parametrize(
    ("cheat", "key"),
    [
        (lambda rows: rows[:-1], "fit.record_of_batches_broken"),
        (lambda rows: rows + 1000, "fit.inputs_not_of_training_data"),
    ],
)
def test_a_log_that_cannot_be_is_refused_without_an_error_of_ours(cheat, key: str) -> None:
    case, found = trained(mark=cheat)
    with raising(WrongAnswer, key):
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
