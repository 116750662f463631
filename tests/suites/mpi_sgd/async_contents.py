"""Whether the messages of an asynchronous training hold gradients and new values, by samples."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, permutations

import numpy as np

from grader.api import (
    Call,
    NotProven,
    Outcome,
    RuleViolation,
    case_context,
    found,
    may_hold,
    messages,
    sends_of,
)

from . import serial
from .async_checks import updates_of
from .fit_cases import Fit, assert_own_batches
from .ownership import layer_num_bytes
from .serial import Vector
from .summing import gives
from .updates import Update

Held = list[tuple[Vector, bool]]
"""Arrays that a message may hold, and whether any multiple of one will do."""

_RTOL = 1e-9
_AHEAD = 2
"""Batches whose messages may have been sent before those of one that is looked for."""


def assert_contents(case: Fit, outcome: Outcome, *, is_right: bool) -> None:
    """Assert that messages hold the workers' gradients and what the workers go on with.

    A gradient may be scaled, or a step from the weights before it; new values may come as their
    change. What masters and workers give to collectives counts as well; that these are not allowed
    is for other tests. is_right: all batches are needed; else one gradient is enough. Raises
    NotProven.
    """
    layers = sum(layer_num_bytes(case.sizes).values())
    masters = range(case.num_masters)
    gradients = 0
    with case_context(case, outcome):
        assert_own_batches(case, outcome, range(case.num_masters, outcome.ranks))
        for worker, updates in _by_worker(case, outcome):
            held = [[*_gradients(case, update)] for update in updates]
            there = [call for rank in masters for call in messages(outcome.trace, worker, rank)]
            there += _given_to_collectives(outcome, worker)
            num_bytes = _num_bytes_holding(there, held)
            gradients += num_bytes
            if is_right and num_bytes < len(updates) * layers:
                raise _not_proven(worker, "sent", "gradients", num_bytes, len(updates) * layers)
            values = [[*_values(case, *pair)] for pair in pairwise(updates)]
            back = [call for rank in masters for call in messages(outcome.trace, rank, worker)]
            back += [call for rank in masters for call in _given_to_collectives(outcome, rank)]
            num_bytes = _num_bytes_holding(back, values)
            if is_right and num_bytes < len(values) * layers:
                raise _not_proven(worker, "got", "new values", num_bytes, len(values) * layers)
        if not gradients:
            raise _not_proven(case.num_masters, "sent", "gradients", 0, layers)


def assert_masters_own_layers(case: Fit, outcome: Outcome) -> None:
    """Assert that masters get gradients of layers, and send new values of them back.

    Both of two masters, and all but one of more: blocks of layers may leave one without. Other
    messages do not count. Nothing is asked where no master is seen to serve by messages. Nor may a
    master pass gradients on to another, or a worker send it the new values. Raises RuleViolation.
    """
    smallest = min(layer_num_bytes(case.sizes).values())
    masters = range(case.num_masters)
    gradients, values = [0] * len(masters), [0] * len(masters)
    num_updates = num_values = 0
    with case_context(case, outcome):
        for worker, updates in _by_worker(case, outcome):
            held = [[*_gradients(case, update)] for update in updates]
            new = [[*_values(case, *pair)] for pair in pairwise(updates)]
            num_updates, num_values = num_updates + len(held), num_values + len(new)
            for rank in masters:
                gradients[rank] += _num_bytes_holding(messages(outcome.trace, worker, rank), held)
                values[rank] += _num_bytes_holding(messages(outcome.trace, rank, worker), new)
            _assert_masters_step(case, outcome, worker, updates)
        _assert_none_passes_on(case, outcome)
        serves = [
            2 * there >= num_updates * smallest and 2 * back >= num_values * smallest
            for there, back in zip(gradients, values, strict=True)
        ]
        idle = [rank for rank in masters if not serves[rank]]
        if any(serves) and len(idle) > (case.num_masters > 2):
            busy = serves.index(True)
            raise RuleViolation.of(
                "layers.master_without_layers",
                f"The workers exchanged gradients and new values with rank {busy}, but not "
                f"with rank {idle[0]}.",
                help=f"number_of_masters is {len(masters)}: divide the layers among all masters",
                rank=idle[0],
                num_masters=len(masters),
            )


def _assert_none_passes_on(case: Fit, outcome: Outcome) -> None:
    gradients = [
        [[*_gradients(case, each)] for each in updates] for _, updates in _by_worker(case, outcome)
    ]
    least_num_bytes = sum(map(len, gradients)) * min(layer_num_bytes(case.sizes).values()) / 2
    for source, destination in permutations(range(case.num_masters), 2):
        sent = _sampled(messages(outcome.trace, source, destination))
        if sum(_num_bytes_holding(sent, held) for held in gradients) >= least_num_bytes:
            raise RuleViolation.of(
                "layers.gradients_passed_on",
                f"Master rank {source} passed the workers' gradients on to rank {destination}.",
                help="each master must apply the gradients of its own layers",
                rank=source,
                destination=destination,
            )


def _assert_masters_step(
    case: Fit, outcome: Outcome, worker: int, updates: Sequence[Update]
) -> None:
    """Assert that a worker does not send values to which others' gradients have been added, too."""
    stepped = []
    for update, following in pairwise(updates):
        before, gradient, new = (
            serial.packed(arrays, case.sizes)
            for arrays in (update.before, update.gradient, following.before)
        )
        own = before - case.learning_rate * gradient
        is_others = ~np.isclose(new, own, rtol=_RTOL, atol=0)
        stepped += [[(np.where(is_others, new, 0), False)]] if is_others.any() else []
    masters = range(case.num_masters)
    sent = [each for rank in masters for each in messages(outcome.trace, worker, rank)]
    least_num_bytes = len(stepped) * min(layer_num_bytes(case.sizes).values()) / 2
    if stepped and _num_bytes_holding(_sampled(sent), stepped) >= least_num_bytes:
        raise RuleViolation.of(
            "layers.worker_steps",
            f"Worker rank {worker} sent the masters new weights and biases, not only gradients.",
            help="the masters must apply the gradients; workers send these, and get new values",
            rank=worker,
        )


def _by_worker(case: Fit, outcome: Outcome) -> list[tuple[int, list[Update]]]:
    updates = updates_of(case, outcome)
    workers = range(case.num_masters, outcome.ranks)
    return [(worker, [each for each in updates if each.rank == worker]) for worker in workers]


def _gradients(case: Fit, update: Update) -> Iterator[tuple[Vector, bool]]:
    """Yield what a worker may send after a batch, and whether any multiple of it will do."""
    before, gradient = (
        serial.packed(arrays, case.sizes) for arrays in (update.before, update.gradient)
    )
    yield gradient, True
    yield before - case.learning_rate * gradient, False


def _values(case: Fit, update: Update, following: Update) -> Iterator[tuple[Vector, bool]]:
    """Yield what a master may send back, as in the above."""
    old, new = (serial.packed(each.before, case.sizes) for each in (update, following))
    yield np.where(new == old, 0, new), False
    yield new - old, True


def _sampled(sent: Iterable[Call]) -> list[Call]:
    """Return the messages of which numbers are known: others accuse nobody."""
    return [call for call in sent if call.sampled_num_bytes > 0]


def _given_to_collectives(outcome: Outcome, rank: int) -> list[Call]:
    return [call for call in outcome.trace.ranks[rank].calls if gives(call) and not call.is_send]


def sends_of_gradients(case: Fit, outcome: Outcome, worker: int) -> Sequence[Call]:
    """Return a worker's messages that hold gradients of its batches."""
    held = [[*_gradients(case, each)] for each in updates_of(case, outcome) if each.rank == worker]
    return _holding(sends_of(outcome.trace, worker), held)


def _num_bytes_holding(sent: Sequence[Call], held: list[Held]) -> int:
    return sum(max(call.num_bytes, 0) for call in _holding(sent, held))


def _holding(sent: Sequence[Call], held: list[Held]) -> Sequence[Call]:
    """Return the messages that hold these arrays, each batch after those before it."""
    batch, holding = 0, []
    # A pickle of which nothing was sampled holds no numbers.
    with_numbers = [call for call in sent if call.sampled_num_bytes or not call.pickled]
    for call in sorted(with_numbers, key=lambda call: call.entered_ns):
        numbers = range(batch, min(batch + _AHEAD, len(held)))
        near = [(number, *each) for number in numbers for each in held[number]]
        # What is sent as it is takes far less time to tell than a multiple.
        ways = [(number, array, False) for number, array, _ in near]
        ways += [each for each in near if each[-1]]
        for number, array, scaled in ways:
            if may_hold(call, array, scaled=scaled):
                holding.append(call)
                batch = number
                break
    return holding


def _not_proven(worker: int, did: str, what: str, num_bytes: int, needed: int) -> NotProven:
    return NotProven(
        found(
            "evidence.training_not_sent",
            f"samples of the messages show that worker rank {worker} {did} only {num_bytes} "
            f"bytes of {what}; its batches need at least {needed}. The trained "
            "network might not come from messages; your instructor reviews this part",
            rank=worker,
            num_bytes=num_bytes,
            needed_num_bytes=needed,
        )
    )
