"""What must come of an asynchronous training, whatever way it went."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.api import (
    Launch,
    Outcome,
    RunFailed,
    Verdict,
    WrongAnswer,
    assert_every_rank,
    case_context,
    counted,
    found,
)

from . import serial
from .fit_cases import (
    RTOL,
    Fit,
    assert_batch_size,
    assert_batches_vary,
    dropped_request,
    examples,
    trained_batches,
)
from .reasons_first import hinted, led_by
from .replay import assert_final, replay
from .updates import Update, Value, factors_of, same

_MOST_BATCHES = 8
"""Times those asked for: more are not replayed, the judge has other things to do."""
_LEAST_SCALE = 0.01
"""Of the sum of all steps: below it, rank 0 ended with about the start values."""


def assert_gradients_reach_a_master(case: Fit, outcome: Outcome) -> None:
    """Assert that an array of a master changed by gradients of the workers' batches, any of them.

    A master cannot know which examples a worker trains on, so these gradients were sent to it.
    Raises WrongAnswer.
    """
    with case_context(case, outcome):
        updates = updates_of(case, outcome)
        masters = range(case.num_masters)
        if not any(_factors(case, outcome, updates, rank) for rank in masters):
            text = "No master's final weights contain gradients of the workers' batches."
            raise WrongAnswer.of("async.no_gradient_reaches_a_master", text)


def assert_new_values_reach_the_workers(case: Fit, outcome: Outcome) -> None:
    """Assert that the worker that was slow ends with weights that contain another's gradients.

    Raises WrongAnswer.
    """
    slow = slow_rank(outcome)
    with case_context(case, outcome):
        updates = updates_of(case, outcome)
        factors = _factors(case, outcome, updates, slow)
        others = {
            update.rank for update, factor in zip(updates, factors, strict=False) if factor
        } - {slow}
        if not others:
            ended = f"Worker rank {slow} ended with weights"
            text = f"{ended} that contain no other worker's gradients."
            helps = "after each batch, a worker must continue with the masters' new values"
            raise WrongAnswer.of("async.worker_without_new_values", text, help=helps, rank=slow)


def slow_rank(outcome: Outcome) -> int:
    """Return the one rank that was told that it is slow."""
    return [given["is_slow"] for given in outcome.inputs].index(True)


def assert_no_gradient_is_lost(case: Fit, outcome: Outcome) -> None:
    """Assert that a master holds the start minus learning_rate times all gradients, of each array.

    In whatever order they were applied. Raises WrongAnswer, naming the array.
    """
    with case_context(case, outcome):
        updates = updates_of(case, outcome)
        start = serial.unpacked(outcome.inputs[0]["start"], case.sizes)
        for name, begin in start.items():
            steps = [case.learning_rate * update.gradient[name] for update in updates]
            held = [outcome[name][rank] for rank in range(case.num_masters)]
            if any(same(begin - np.sum(steps, axis=0), array, RTOL) for array in held):
                continue
            _replayed(case, outcome)  # tells why, if it can
            text = f"No master's final {name} equals the start value minus all batches' steps."
            raise WrongAnswer.of("async.last_value_missing", text, name=name)


def assert_replays(case: Fit, outcome: Outcome) -> None:
    """Assert that every batch's gradients were applied once, and replied to at once.

    One worker that trains for all shows nothing of this. Raises WrongAnswer.
    """
    with case_context(case, outcome):
        _replayed(case, outcome)
    assert_every_worker_trains(case, outcome)


def assert_every_worker_trains(case: Fit, outcome: Outcome) -> None:
    """Assert that every worker trained on a quarter of its share of the batches or more.

    Workers that take a batch whenever they are free do not share evenly. Raises WrongAnswer.
    """
    given = outcome.inputs[0]
    workers = range(case.num_masters, outcome.ranks)
    share = given["epochs"] * (given["number_of_batches"] // len(workers))
    with case_context(case, outcome):
        for rank in workers:
            trained = len(trained_batches(case, outcome, rank))
            if trained < share // 4:
                raise WrongAnswer.of(
                    "async.share_too_small",
                    f"Worker rank {rank} trained on {counted(trained, 'batch', 'batches')}; "
                    f"its share is at least {share}.",
                    help="divide number_of_batches evenly among the workers",
                    rank=rank,
                    trained=trained,
                    expected=share,
                )


def assert_rank_0_holds_the_result(case: Fit, outcome: Outcome, kinds: str = "") -> None:
    """Assert that rank 0 ends with the last value of every layer's weights and biases.

    kinds: `weights` or `biases`, to look at these alone, also where the order of steps was wrong
    or each was scaled.
    Raises WrongAnswer, naming the array.
    """
    with case_context(case, outcome):
        final = {
            name: array
            for name, array in _arrays_of(case, outcome, 0).items()
            if name.startswith(kinds)
        }
        if not kinds:
            assert_final(_replayed(case, outcome), final, rtol=RTOL)
            return
        updates = updates_of(case, outcome)
        start = serial.unpacked(outcome.inputs[0]["start"], case.sizes)
        steps = {
            name: case.learning_rate * np.sum([update.gradient[name] for update in updates], axis=0)
            for name in final
        }
        last = {name: _stepped(start[name], steps[name], final[name]) for name in final}
        chains = {name: [*len(updates) * [start[name]], last[name]] for name in final}
        assert_final(chains, final, rtol=RTOL)


def _stepped(start: Value, steps: Value, final: Value) -> Value:
    """Return where the steps lead from the start: scaled, if that is where rank 0 ended."""
    if final.shape == steps.shape and steps.any():
        scale = float(np.vdot(steps, start - final) / np.vdot(steps, steps))
        scaled = start - scale * steps
        if abs(scale) > _LEAST_SCALE and same(final, scaled, RTOL):
            return scaled
    return start - steps


def assert_batches(case: Fit, outcome: Outcome) -> None:
    """Assert that the workers together trained on number_of_batches whole batches per epoch.

    And that each did its share. Raises WrongAnswer with the share of every worker.
    """
    with case_context(case, outcome):
        numbers = {}
        for rank in range(outcome.ranks):
            batches = trained_batches(case, outcome, rank)
            if rank >= case.num_masters:
                numbers[rank] = len(batches)
            elif batches:
                number = counted(len(batches), "batch", "batches")
                text = f"Rank {rank} is a master, but trained on {number} itself."
                raise WrongAnswer.of("async.master_trains", text, rank=rank)
            assert_batch_size(case, outcome, rank, case.mini_batch_size, "mini_batch_size")
        trained, asked = sum(numbers.values()), case.num_steps
        if trained != asked:
            told = ", ".join(f"rank {rank}: {number}" for rank, number in numbers.items())
            raise WrongAnswer.of(
                "async.batches_left_out" if trained < asked else "async.batches_more_than_once",
                f"The workers trained on {counted(trained, 'batch', 'batches')} ({told}); "
                f"expected number_of_batches x epochs = {case.number_of_batches} x "
                f"{case.epochs} = {asked}.",
                help="the workers share number_of_batches batches; if these do not divide "
                "evenly, some workers train on one more",
                trained=trained,
                expected=asked,
            )
        assert_batches_vary(case, outcome, list(numbers))
    assert_every_worker_trains(case, outcome)


def uneven_trainings(launch: Launch) -> list[tuple[Fit, Outcome]]:
    """Return the trainings of a launch whose batches do not divide by its workers.

    Raises RunFailed: where ranks wait for each other, with the division as a hint.
    """
    try:
        return list(launch)
    except RunFailed as error:
        if error.failure.verdict is not Verdict.DEADLOCK:
            raise
        case, _ = next(launch.answers())
        num_workers = launch.ranks - case.num_masters
        share, rest = divmod(case.number_of_batches, num_workers)
        hint = found(
            "async.uneven_batches",
            f"{case.number_of_batches} batches do not divide evenly among {num_workers} workers: "
            f"{counted(rest, 'worker')} must train on {share + 1} per epoch, the rest "
            f"on {share}.",
            help="does each master expect as many batches from a worker as the worker trains on?",
            batches=case.number_of_batches,
            workers=num_workers,
        )
        raise hinted(error, hint) from None


def assert_trained_as_one_process(case: Fit, outcome: Outcome) -> None:
    """Assert for a single worker that rank 0 ends as serial training on its batches does.

    Raises WrongAnswer, naming the array.
    """
    with case_context(case, outcome):
        (worker,) = range(case.num_masters, outcome.ranks)
        batches = [
            examples(outcome, worker, rows) for rows in trained_batches(case, outcome, worker)
        ]
        start = outcome.inputs[0]["start"]
        expected = serial.train(start, case.sizes, case.learning_rate, batches)
        for name, array in serial.unpacked(expected, case.sizes).items():
            on_rank_0 = [outcome[name][0]]
            try:
                assert_every_rank(on_rank_0, equals=array, name=name, rtol=RTOL, atol=RTOL)
            except WrongAnswer as error:
                text = f"Rank 0 did not end with the {name} of serial training on the same batches."
                wrong = found("async.unlike_serial_training", text, name=name)
                raise led_by(error, dropped_request(outcome), wrong) from None


def _replayed(case: Fit, outcome: Outcome) -> dict[str, list[Value]]:
    # Beside a slow worker the trace lacks messages of the probe's own.
    dropped = dropped_request(outcome) if case.purpose == "values" else None
    try:
        return replay(
            serial.unpacked(outcome.inputs[0]["start"], case.sizes),
            updates_of(case, outcome),
            case.learning_rate,
            rtol=RTOL,
            final=None if dropped else _arrays_of(case, outcome, 0),
        )
    except WrongAnswer as error:
        raise led_by(error, dropped) from None


def _factors(case: Fit, outcome: Outcome, updates: Sequence[Update], rank: int) -> list[float]:
    """Return how often the gradient of each update is in the first array of a rank that has any.

    Empty where no array that is long enough to tell is its start value and such gradients.
    """
    start = serial.unpacked(outcome.inputs[0]["start"], case.sizes)
    for name, begin in start.items():
        steps = [case.learning_rate * update.gradient[name] for update in updates]
        if factors := factors_of(begin - outcome[name][rank], steps):
            return factors
    return []


def updates_of(case: Fit, outcome: Outcome) -> list[Update]:
    """Return what every worker did, with the gradients it should have found."""
    updates: list[Update] = []
    for rank in range(case.num_masters, outcome.ranks):
        batches, seen = trained_batches(case, outcome, rank), outcome["seen"][rank]
        if len(updates) + len(batches) > _MOST_BATCHES * case.num_steps:
            asked = case.num_steps
            text = (
                f"The workers trained on more than {_MOST_BATCHES} times the required {asked} "
                "batches."
            )
            raise WrongAnswer.of("async.far_too_many_batches", text, expected=asked)
        if len(seen) != len(batches):
            text = f"The grader's record of rank {rank}'s weights is inconsistent."
            raise WrongAnswer.of("async.record_of_weights_broken", text, rank=rank)
        held = [*seen, serial.packed(_arrays_of(case, outcome, rank), case.sizes)]
        for number, rows in enumerate(batches):
            inputs, labels = examples(outcome, rank, rows)
            gradient = serial.gradient(seen[number], case.sizes, inputs, labels)
            before, by_name, after = (
                serial.unpacked(vector, case.sizes)
                for vector in (held[number], gradient, held[number + 1])
            )
            updates.append(Update(rank, number, before, by_name, after))
    if not updates:
        raise WrongAnswer.of("async.no_batch", "No worker trained on any batch.")
    return updates


def _arrays_of(case: Fit, outcome: Outcome, rank: int) -> dict[str, Any]:
    return {name: outcome[name][rank] for name in case.shapes}
