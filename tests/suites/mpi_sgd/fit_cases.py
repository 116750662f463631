"""What the three training parts are called with, and what their networks were trained on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    Array,
    Case,
    Data,
    Finding,
    NotProven,
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_requests_completed,
    counted,
    found,
)

from . import serial

Rows = NDArray[np.int64]

RTOL = 1e-9
"""Far above what the order of a sum can change in these short trainings, far below any mistake."""

FLOAT64_NUM_BYTES = 8

TIME_FACTOR = 15
"""How many times as long as serial training a fit may take."""

_NUM_ROWS = 240
"""Enough that one of 15 slices still has more rows than a batch."""
_NUM_UNSEEN_ROWS = 4
_SLOW_PATIENCE_S = 2.0
"""For each other worker."""
SLOW, SLOW_LATER, DRAWN_LENGTH = "slow worker", "later slow worker", "drawn length"
_MEANWHILE = 8
"""How many batches each other worker does while the slow one is held, or more where it is later."""
_LEAST_EPOCHS = 3
_LEAST_SHARE = 10
"""Of a worker in an epoch, beside one that is slow later."""
_MASTER_PAUSE_S = 0.05
"""Far longer than workers take for a batch: all have sent gradients when a master first looks."""
_WORKER_PAUSE_S = 0.02
_SHARE_OF_PAUSES = 0.05
"""Of the batches of a worker."""
_LEAST_CHOICES = 10
"""Of batches that could be made of a slice: nobody can tell which it was."""


@dataclass(frozen=True, kw_only=True)
class Fit(Case):
    """One training: start weights, data and the batches of every rank are given."""

    file: str
    class_name: str
    sizes: tuple[int, ...]
    number_of_batches: int
    epochs: int
    mini_batch_size: int
    num_masters: int = 0
    """0 for synchronous training, where every rank is the same."""
    purpose: str = "values"
    """`values`, `slow worker`, or one of `yardstick` and `timing`, which are compared.

    In a `later slow worker` or a `drawn length`, the numbers of epochs and of batches are drawn;
    they are no more than the case says.
    """
    least_steps: int = 0
    """Of a drawn length."""
    number: int = 0
    """Tells cases apart that only differ in being measured again, or in which worker is slow."""
    group: str = ""
    """A word of the suite's own to select cases by."""
    learning_rate: float = 0.3
    num_pauses: int = 0
    """Of each rank, in its first batches: do the ranks compute at the same time?"""

    @property
    def is_asynchronous(self) -> bool:
        """Return whether some ranks are masters."""
        return self.num_masters > 0

    @property
    def num_steps(self) -> int:
        """Return how many batches one process would train on."""
        return self.epochs * self.number_of_batches

    @property
    def label(self) -> str:
        """Return the network, the number of batches, and what is special."""
        masters = counted(self.num_masters, "master")
        return (
            (f"{masters}, " if self.is_asynchronous else "")
            + f"layers {'-'.join(map(str, self.sizes))}, "
            + {
                "values": self._length,
                SLOW: f"{self._length}, a slow {'last ' * self.number}worker",
                SLOW_LATER: "several epochs, a worker that becomes slow",
                DRAWN_LENGTH: "a random number of batches",
            }.get(self.purpose, f"{self._length}, {self.purpose} {self.number}")
            + self.perturbation
        )

    @property
    def _length(self) -> str:
        epochs = counted(self.epochs, "epoch")
        return f"{epochs} of {counted(self.number_of_batches, 'batch', 'batches')}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same data and start weights for every rank, and each its own batches."""
        epochs, number_of_batches = self._drawn_length(random, ranks)
        rows = random.standard_normal((_NUM_ROWS + _NUM_UNSEEN_ROWS, self.sizes[0]))
        labels = np.eye(self.sizes[-1])[random.integers(self.sizes[-1], size=len(rows))]
        same: dict[str, Any] = {
            "file": self.file,
            "class_name": self.class_name,
            "options": {"number_of_masters": self.num_masters} if self.is_asynchronous else {},
            "sizes": list(self.sizes),
            "learning_rate": self.learning_rate,
            "mini_batch_size": self.mini_batch_size,
            "number_of_batches": number_of_batches,
            "epochs": epochs,
            "record_weights": self._records_weights,
            "num_pauses": self.num_pauses,
            "paused_product": self._drawn_backward_product(random),
            "start": _start(random, self.sizes),
            "data": rows[:_NUM_ROWS],
            "labels": labels[:_NUM_ROWS],
            "unseen": rows[_NUM_ROWS:],
            "unseen_labels": labels[_NUM_ROWS:],
        }
        if self.purpose == "yardstick":
            same["options"] = {}
        if self.purpose in (SLOW, SLOW_LATER):
            last = ranks - 1
            drawn = int(random.integers(self.num_masters, last))
            slow = last if self.number else drawn
            same["first_worker"] = self.num_masters
            same["patience_s"] = _SLOW_PATIENCE_S * (ranks - self.num_masters - 1)
            same["pause_s"] = _WORKER_PAUSE_S if self.purpose == SLOW else 0.0
            share = number_of_batches // (ranks - self.num_masters)
            same |= self._drawn_hold(random, epochs, share)
            # One worker is held in its backward pass, the last in its forward pass, one anywhere.
            drawn = self._drawn_backward_product(random)
            if self.purpose == SLOW_LATER:
                drawn = int(random.integers(drawn + 1))
            elif self.number:
                drawn = int(random.integers(self.num_forward_products + 1))
            same["held_product"] = drawn
        scripts = [_script(random, epochs, number_of_batches) for _ in range(ranks)]
        each = [{**same, "script": script} for script in scripts]
        if self.purpose in (SLOW, SLOW_LATER):
            for rank, given in enumerate(each):
                given["is_slow"] = rank == slow
        if self.is_asynchronous and self.purpose == "values":
            for rank, given in enumerate(each):
                given["pauses_s"] = self._pauses_s(random, rank)
        return each

    def results(self, rank: int, ranks: int) -> Mapping[str, Array]:
        """Return the form of the weights and biases, and of what was trained on."""
        if self.purpose == "yardstick":
            return {}
        num_seen = serial.num_parameters(self.sizes) if self._records_weights else 0
        return {
            "rows": Array("int64", (None,)),
            "rows_per_batch": Array("int64", (None,)),
            "passed": Array("int64", (None,)),
            "rows_per_call": Array("int64", (None,)),
            "seen": Array("float64", (None, num_seen), finite=False),
            **(
                {"released_ns": Array("int64", (None,))}
                if "slow" in self.purpose
                else dict.fromkeys(("paused_ns", "paused_later_ns"), Array("int64", (None, 2)))
            ),
            # Numbers that are not finite are compared as well: whose they are tells more.
            **{name: Array("float64", shape, finite=False) for name, shape in self.shapes.items()},
        }

    def of_drawn_length(self, outcome: Outcome) -> "Fit":
        """Return the case with the numbers of epochs and batches that were drawn for an outcome."""
        given = outcome.inputs[0]
        batches, epochs = given["number_of_batches"], given["epochs"]
        return replace(self, number_of_batches=batches, epochs=epochs)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every array of the network by name."""
        return serial.shapes(self.sizes)

    def _pauses_s(self, random: np.random.Generator, rank: int) -> list[float]:
        """Return how long a rank pauses before it begins, and a worker before each batch.

        Which messages a receive from any source can choose from is then no matter of luck.
        """
        if rank < self.num_masters:
            return [_MASTER_PAUSE_S]
        is_late = random.random(self.num_steps) < _SHARE_OF_PAUSES
        return [0.0, *(_WORKER_PAUSE_S * is_late).tolist()]

    @property
    def _records_weights(self) -> bool:
        return self.is_asynchronous and self.purpose in ("values", SLOW, SLOW_LATER)

    def _drawn_length(self, random: np.random.Generator, ranks: int) -> tuple[int, int]:
        """Return the numbers of epochs and of batches; long is rarer than short, for its time.

        Beside a worker that is slow later, all workers train on as many batches as the others.
        """
        if self.purpose == SLOW_LATER:
            num_workers = ranks - self.num_masters
            most = self.number_of_batches // num_workers
            share = int(random.integers(_LEAST_SHARE, most + 1))
            return int(random.integers(_LEAST_EPOCHS, self.epochs + 1)), share * num_workers
        if self.purpose == DRAWN_LENGTH:
            least = self.least_steps
            num_steps = int(least * (self.num_steps / least) ** random.random() ** 2)
            epochs = int(random.integers(2, self.epochs + 1))
            return epochs, num_steps // epochs
        return self.epochs, self.number_of_batches

    def _drawn_backward_product(self, random: np.random.Generator) -> int:
        """Return a product of matrices of a batch's backward pass, counted from 1.

        The backward pass has two for each layer, but one for the first.
        """
        layers = self.num_forward_products
        return int(random.integers(layers + 1, 3 * layers))

    @property
    def num_forward_products(self) -> int:
        """Return how many products of matrices the forward pass has: one for each layer."""
        return len(self.sizes) - 1

    def _drawn_hold(self, random: np.random.Generator, epochs: int, share: int) -> dict[str, int]:
        """Return in which of its batches the slow worker is held, and to which the others go on.

        Later, the others go on to the last one of the same epoch: no program has to begin an epoch
        before all workers have ended the one before.
        """
        if self.purpose == SLOW:
            return {"held_batch": 0, "reached_batch": _MEANWHILE}
        begin = share * int(random.integers(1, epochs))
        held = begin + int(random.integers(share - _MEANWHILE))
        return {"held_batch": held, "reached_batch": begin + share - 1}


def trained_batches(case: Fit, outcome: Outcome, rank: int) -> list[Rows]:
    """Return the rows of every batch that a rank trained on, in order.

    Raises WrongAnswer when they are not rows of the training data, or far too many.
    """
    rows, lengths = outcome["rows"][rank], outcome["rows_per_batch"][rank]
    if len(lengths) > 4 * case.num_steps:
        trained, asked = len(lengths), case.num_steps
        text = f"Rank {rank} trained on {trained} batches; number_of_batches x epochs is {asked}."
        raise WrongAnswer.of(
            "fit.too_many_batches", text, rank=rank, trained=trained, expected=asked
        )
    if (lengths < 0).any() or lengths.sum() != len(rows):
        text = f"The grader's record of rank {rank}'s batches is inconsistent."
        raise WrongAnswer.of("fit.record_of_batches_broken", text, rank=rank)
    if (rows < 0).any() or (rows >= _NUM_ROWS).any():
        text = f"Rank {rank} trained on inputs that are not examples from training_data."
        helps = "pass forward_prop the inputs of a batch exactly as create_batches returned them"
        raise WrongAnswer.of("fit.inputs_not_of_training_data", text, help=helps, rank=rank)
    ends = np.cumsum(lengths)
    return [rows[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def assert_batches_vary(case: Fit, outcome: Outcome, ranks: Sequence[int]) -> None:
    """Assert that each rank trained on three quarters of the batches that it gets in an epoch.

    Who asks for batches in each step, where a real one draws anew, is not looked at. ranks: those
    among which the batches of create_batches are divided. Raises WrongAnswer.
    """
    given = len(outcome.inputs[0]["script"][0])
    for rank in ranks:
        if len(outcome["rows_per_call"][rank]) > case.epochs:
            continue
        batches = trained_batches(case, outcome, rank)
        num_different = len({frozenset(rows.tolist()) for rows in batches})
        least = 3 * min(len(batches) // case.epochs, given) // 4
        if num_different < least:
            used = counted(num_different, "distinct batch", "distinct batches")
            text = f"In {len(batches)} steps, rank {rank} used only {used}."
            helps = "which batch of create_batches does each step take?"
            facts = {"rank": rank, "different": num_different, "steps": len(batches)}
            raise WrongAnswer.of("fit.same_batch", text, help=helps, **facts)


def assert_own_batches(case: Fit, outcome: Outcome, ranks: Iterable[int]) -> None:
    """Assert that ranks trained on batches of create_batches, of any rank, or on pieces of these.

    Nobody else can know which they are; what all ranks know need not be sent. A piece of a batch of
    a slice begins where that does; a batch for all ranks may be cut into theirs. Raises NotProven.
    """
    orders = [
        order
        for inputs in outcome.inputs
        for order in inputs["script"].reshape(-1, _NUM_ROWS).tolist()
    ]
    whole = [set(order[: case.mini_batch_size]) for order in orders]
    for_all = [set(order[: case.mini_batch_size * outcome.ranks]) for order in orders]
    of_slices = [rows for rank in range(outcome.ranks) for rows in _rows_of_slices(outcome, rank)]

    def is_created(batch: set[int]) -> bool:
        if len(batch) == case.mini_batch_size and any(map(batch.issubset, for_all)):
            return True
        return any(map(batch.issubset, whole)) or any(
            batch == set(rows[: len(batch)]) and comb(len(rows), len(batch)) >= _LEAST_CHOICES
            for rows in of_slices
        )

    for rank in ranks:
        for number, rows in enumerate(trained_batches(case, outcome, rank)):
            if not is_created(set(rows.tolist())):
                raise NotProven.of(
                    "evidence.batches_not_created",
                    f"rank {rank}'s batch {number} is not one that create_batches returned. If "
                    "other ranks know its examples, they can compute its gradients "
                    "themselves; your instructor reviews this part",
                    rank=rank,
                    batch=number,
                )


def _rows_of_slices(outcome: Outcome, rank: int) -> Iterator[list[int]]:
    """Yield the rows of each slice that create_batches was passed, in the order of each batch.

    Those of one call per epoch: who asks more often could learn that order.
    """
    ends = np.cumsum(outcome["rows_per_call"][rank])[:-1]
    slices = map(set, np.split(outcome["passed"][rank].tolist(), ends))
    script = outcome.inputs[rank]["script"].tolist()
    partial = [(script[call % len(script)], rows) for call, rows in enumerate(slices) if rows]
    for epoch, passed in partial[: len(script)]:
        yield from ([row for row in order if row in passed] for order in epoch)


def assert_batch_size(case: Fit, outcome: Outcome, rank: int, expected: int, formula: str) -> None:
    """Assert that every batch a rank trained on has `expected` examples.

    Raises WrongAnswer, naming the formula.
    """
    for batch, rows in enumerate(trained_batches(case, outcome, rank)):
        if (size := len(rows)) != expected:
            has = f"Rank {rank}'s batch {batch} has {counted(size, 'example')}"
            text = f"{has}; expected {expected} ({formula})."
            raise WrongAnswer.of(
                "fit.batch_size", text, rank=rank, batch=batch, examples=size, expected=expected
            )


def examples(outcome: Outcome, rank: int, rows: Rows) -> tuple[serial.Vector, serial.Vector]:
    """Return inputs and labels of the given rows."""
    given = outcome.inputs[rank]
    return given["data"][rows], given["labels"][rows]


def dropped_request(outcome: Outcome) -> Finding | None:
    """Return the first request that is never waited for: the likeliest cause of wrong values."""
    try:
        assert_requests_completed(outcome.trace, may_be_silent=True)
    except RuleViolation as error:
        facts = error.findings[0].facts
        place = f" at {facts['place']}" if facts["place"] else ""
        return found(
            "fit.request_dropped",
            f"Rank {facts['rank']} never waited for its {facts['call']}{place}.",
            help="until you wait for a request, MPI may still read or write its array",
            **facts,
        )
    return None


def timed(
    file: str, class_name: str, num_masters: int, purpose: str, attempt: int, subject: str = ""
) -> list[Fit]:
    """Return cases on the network of the handout, to be timed; more of them at later attempts."""
    return [
        Fit(
            "serial_fit" if purpose == "yardstick" else "fit",
            subject=subject if purpose == "timing" else "",
            file=file,
            class_name=class_name,
            sizes=(784, 128, 64, 10),
            number_of_batches=12,
            epochs=1,
            mini_batch_size=16,
            num_masters=num_masters,
            purpose=purpose,
            number=10 * attempt + i,
        )
        for i in range(5 if attempt else 3)
    ]


def _script(random: np.random.Generator, epochs: int, number_of_batches: int) -> Rows:
    """Return all rows of the data for every epoch and batch, in the order to take them in."""
    rows = np.broadcast_to(np.arange(_NUM_ROWS), (epochs, number_of_batches, _NUM_ROWS))
    return random.permuted(rows, axis=-1)


def _start(random: np.random.Generator, sizes: Sequence[int]) -> serial.Vector:
    """Return packed start weights under which no sigmoid is flat."""
    arrays = {
        name: random.uniform(-1, 1, shape) / np.sqrt(shape[0] if len(shape) == 2 else 4)
        for name, shape in serial.shapes(sizes).items()
    }
    return serial.packed(arrays, sizes)
