"""Replays a training that came to no end by its messages: how much of it do they hold?

Nothing is known of its batches but their order, so each message tells which batch it is of: from
the weights of its worker follow the gradients, and from these what the master sends back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from grader.api import Attempt, Call, may_hold, messages

from . import serial
from .fit_cases import Fit
from .ownership import SMALL_NUM_BYTES
from .serial import Vector

_MASTER = 0
_MOST_UNTOLD = 4
"""Messages of one batch that may hold anything else."""

Batches = Sequence[Sequence[int]]


@dataclass
class _Worker:
    """What is known of a worker after some messages."""

    weights: Vector
    slices: Sequence[Batches]
    """Which batches there may be: of all data, of each slice of it."""
    gradient: Vector | None = None
    """Of the batch that is under way, or has been replied to."""
    is_waiting: bool = False
    num_untold: int = 0
    last: int = -1
    """The place of its batch."""
    known: dict[tuple[int, int], Vector] = field(default_factory=dict)
    """The gradients that batches would have at the weights, by slice and place."""


def slices_of(case: Fit, attempt: Attempt, worker: int) -> list[Batches]:
    """Return the batches that a worker may train on: of all data, and of the usual slices of it."""
    given = attempt.inputs[worker]
    num_rows, num_workers = len(given["data"]), attempt.ranks - 1
    slices = [range(num_rows)]
    for place, number in ((worker - 1, num_workers), (worker, attempt.ranks)):
        share = num_rows // number
        slices += [
            range(place, num_rows, number),
            range(place * share, (place + 1) * share),
        ]
    orders = given["script"].reshape(-1, num_rows).tolist()
    return [
        [[row for row in order if row in rows][: case.mini_batch_size] for order in orders]
        for rows in slices
    ]


def are_told(case: Fit, attempt: Attempt, num_bytes: int) -> bool:
    """Return whether so many bytes of messages hold gradients, and as many hold new values.

    One master has all layers. Steps may be scaled, or come after the reply.
    """
    factors = (1.0, 1 / (attempt.ranks - 1), 1 / case.mini_batch_size)
    ways = product(factors, (True, False))
    return any(min(_told(case, attempt, *way)) >= num_bytes for way in ways)


def _told(case: Fit, attempt: Attempt, factor: float, steps_first: bool) -> tuple[int, int]:
    master = start = attempt.inputs[_MASTER]["start"]
    workers = {
        rank: _Worker(master, slices_of(case, attempt, rank)) for rank in range(1, attempt.ranks)
    }
    gradients = values = 0
    for rank, call in _in_order(attempt):
        worker = workers[rank]
        if not call.peer:
            gradients += call.num_bytes * _is_gradient(case, attempt, rank, worker, call)
            continue
        old = master
        if worker.is_waiting and worker.gradient is not None:
            new = old - factor * case.learning_rate * worker.gradient
            reply = new if steps_first else old
            if not may_hold(call, reply):
                continue
            master, worker.weights, worker.is_waiting = new, reply, False
            worker.known, worker.num_untold = {}, 0
            values += call.num_bytes * (reply is not start)
        elif worker.gradient is not None and worker.weights is not start:
            values += call.num_bytes * may_hold(call, worker.weights)
    return gradients, values


def _in_order(attempt: Attempt) -> Iterator[tuple[int, Call]]:
    """Yield the messages with arrays between workers and the master, with the worker."""
    ranks = range(1, attempt.ranks)
    both = [(rank, call) for rank in ranks for call in messages(attempt.trace, rank, _MASTER)]
    both += [(rank, call) for rank in ranks for call in messages(attempt.trace, _MASTER, rank)]
    arrays = [each for each in both if each[1].num_bytes > SMALL_NUM_BYTES]
    yield from sorted(arrays, key=lambda each: each[1].entered_ns)


def _is_gradient(case: Fit, attempt: Attempt, rank: int, worker: _Worker, call: Call) -> bool:
    """Return whether a message holds gradients of the batch under way, or of another one."""
    if worker.gradient is not None and _may_be_of(case, worker, worker.gradient, call):
        return True
    if worker.is_waiting or worker.num_untold >= _MOST_UNTOLD:
        return False
    for number, batches in enumerate(worker.slices):
        # Most likely is the one after the last.
        for place in np.roll(range(len(batches)), -1 - worker.last).tolist():
            gradient = _gradient(case, attempt, rank, worker, (number, place))
            if _may_be_of(case, worker, gradient, call):
                worker.slices, worker.gradient, worker.last = [batches], gradient, place
                worker.is_waiting, worker.num_untold = True, 0
                return True
    worker.num_untold += 1
    return False


def _may_be_of(case: Fit, worker: _Worker, gradient: Vector, call: Call) -> bool:
    """Return whether a message may hold a gradient, or the weights after a step of it."""
    stepped = worker.weights - case.learning_rate * gradient
    return may_hold(call, gradient, scaled=True) or may_hold(call, stepped)


def _gradient(
    case: Fit, attempt: Attempt, rank: int, worker: _Worker, which: tuple[int, int]
) -> Vector:
    if which not in worker.known:
        given, (number, place) = attempt.inputs[rank], which
        batch = worker.slices[number][place]
        worker.known[which] = serial.gradient(
            worker.weights, case.sizes, given["data"][batch], given["labels"][batch]
        )
    return worker.known[which]
