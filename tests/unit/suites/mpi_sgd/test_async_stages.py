"""Stages of asynchronous masters: what calls show of trainings, ended or not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from mpi_sgd import async_cases, async_stages
from mpi_sgd.fit_cases import Fit

from grader.api import ANY_SOURCE, Attempt, Call, Finding
from grader.grading_plugin.launch_results import Launch, make_launch
from grader.model.report import RunFailure, Verdict

from ...judge.build import trace_of
from .outcomes import call, inputs_of
from .test_async_cases import serve

CASES = async_cases.cases_by_ranks()
CRASHED = RunFailure(Verdict.RUN_TIME_ERROR, "a crash")
CASE = next(case for case in CASES[3] if case.group == async_cases.ONE_MASTER)
WEIGHTS, BIASES = (432, 504, 672), (72, 56, 96)
"""Bytes of the layers 6-9-7-12."""
LAYERS = [size for pair in zip(WEIGHTS, BIASES, strict=True) for size in pair]


def sent(sizes: Sequence[int], peer: int = 0, *, pickled: bool = False) -> list[Call]:
    return [call("Isend", size, peer=peer, pickled=pickled) for size in sizes]


def received(sizes: Sequence[int], peer: int = 0) -> list[Call]:
    return [call("Irecv", size, peer=peer) for size in sizes]


def attempt(master: list[Call], *workers: list[Call], failure: RunFailure = CRASHED) -> Attempt:
    ranks = 1 + len(workers)
    return Attempt(ranks, tuple(inputs_of(CASE, ranks)), trace_of([master, *workers]), failure)


@pytest.mark.parametrize(
    ("worker", "holds"),
    [
        (sent(LAYERS), True),
        (sent([4, 8, 48, *LAYERS]), True),
        (sent([432, 72]), True),
        (sent([504]), True),
        (sent([1832]), True),
        (sent([1888]), True),
        (sent([1832 + 8]), True),
        (sent([1888 + 16]), False),
        (sent([560, 198], pickled=True), True),
        (sent(LAYERS, peer=2), False),
        (sent([432]), False),
        (sent([*LAYERS, 4000]), False),
        (sent([size // 2 for size in LAYERS]), False),
        (received(LAYERS), False),
        ([], False),
    ],
)
def test_gradients_are_told_by_the_sizes_of_layers(worker: list[Call], holds: bool) -> None:
    assert async_stages.sends_gradients(CASE, attempt([], [], worker)) == holds


@pytest.mark.parametrize(
    ("master", "holds"),
    [
        (received([432], peer=ANY_SOURCE), True),
        (received([432], peer=1) + received([432], peer=2), True),
        ([call("Mprobe", peer=ANY_SOURCE)], True),
        (received([432], peer=1), False),
        (received([8], peer=ANY_SOURCE), False),
        (sent(LAYERS, peer=1), False),
    ],
)
def test_a_master_asks_any_worker(master: list[Call], holds: bool) -> None:
    assert async_stages.asks_for_gradients(CASE, attempt(master, [], [])) == holds


@pytest.mark.parametrize(
    ("master", "worker", "holds"),
    [
        ([], received(LAYERS), True),
        ([], [call("Mprobe", peer=0)], True),
        (sent(LAYERS, peer=1), [], True),
        ([], sent(LAYERS), False),
        ([], received(LAYERS, peer=2), False),
        (sent([12], peer=1), [], False),
    ],
)
def test_new_values_are_asked_for_or_sent(
    master: list[Call], worker: list[Call], holds: bool
) -> None:
    found = attempt(master, worker, [])
    assert async_stages.asks_for_or_sends_new_values(CASE, found) == holds


@pytest.mark.parametrize(("number", "holds"), [(23, False), (24, True), (26, True), (40, False)])
def test_every_batch_has_its_messages(number: int, holds: bool) -> None:
    there, back = sent(LAYERS) * (number // 2), sent(LAYERS, peer=1) * number
    odd = sent(LAYERS) * (number % 2)
    assert async_stages.exchanges_every_batch(CASE, attempt(back, there + odd, there)) == holds


def test_an_end_with_most_batches_unsent_is_no_exchange() -> None:
    asks = [*sent(LAYERS), *received(LAYERS)]
    assert async_stages.asks_for_or_sends_new_values(CASE, attempt([], asks, asks))
    ended = [*asks, call("Barrier")]
    assert not async_stages.asks_for_or_sends_new_values(CASE, attempt([], ended, ended))
    assert async_stages.asks_for_or_sends_new_values(CASE, attempt([], ended, asks))


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ("Irecv() got an unexpected keyword argument 'src'", True),
        ("Isend() got an unexpected keyword argument 'dst'", False),
        ("unsupported operand", False),
    ],
)
def test_a_misspelt_keyword_of_a_receive_asks(message: str, holds: bool) -> None:
    raised = Finding("crash.type_error", message, facts={"message": message})
    batch = sent(LAYERS)
    found = attempt([], batch, batch, failure=RunFailure.of(Verdict.RUN_TIME_ERROR, raised))
    assert async_stages.asks_for_or_sends_new_values(CASE, found) == holds


def shown(**found: Attempt | bool) -> bool:
    """Return whether gradients are shown.

    found: by `on_2` to `on_5` ranks; where trainings ended, whether gradients have reached rank 0.
    """

    def run(ranks: int, cases: tuple[Fit, ...]) -> Launch:
        each = found.get(f"on_{ranks}", attempt([], []))
        if isinstance(each, bool):
            trace = trace_of([[], *(ranks - 1) * [sent(LAYERS)]])
            ended = [replace(serve(case, ranks, gathers=each), trace=trace) for case in cases]
            return make_launch(cases, ended, ranks)
        return make_launch(cases, [each.failure or CRASHED] * len(cases), ranks, {0: each})

    try:
        async_stages.shown(run, CASES, async_stages.sends_gradients)
    except pytest.skip.Exception:
        return False
    return True


def test_a_stage_is_about_trainings_without_an_error_of_their_own(monkeypatch) -> None:
    sends = attempt([], sent(LAYERS), sent(LAYERS))
    assert shown(on_3=sends)
    assert not shown(on_2=attempt([], sent(LAYERS)))
    assert shown(on_3=sends, on_4=True)
    assert not shown(on_3=sends, on_4=False)
    assert not shown(on_3=True, on_4=True), "its messages hold nothing of the training"
    monkeypatch.setattr(async_stages, "assert_contents", lambda *_, is_right: None)
    assert shown(on_3=True, on_4=True)
    refused = replace(sends, failure=RunFailure(Verdict.RULE_VIOLATION, "refused"))
    assert not shown(on_3=refused)
    raises = replace(CRASHED, detail='  File "async.py", line 9, in fit\n    raise ValueError')
    assert not shown(on_3=replace(sends, failure=raises))
