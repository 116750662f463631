"""What hogwild is called with: trainings of a small model in one process and in several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from grader.api import Array, Data, Outcome, Text

from .digits_cases import Digits
from .training_cases import Training

FOR_EACH_WRITE = ("writers", "written", "written_size")
FOR_EACH_STAY = ("stayed", "stayed_since_ns", "stayed_until_ns", "stopped")
_MEETINGS_PER_EPOCH = 2
_MANY_PROCESSES = (4, 5)
_FAILING_BATCH = 8
"""Of the 9 that each of two processes has of 24 examples: nobody waits for another by then."""


@dataclass(frozen=True, kw_only=True)
class Hogwild(Training):
    """One call of hogwild, in a process that is no rank of anything."""

    probe: str = "train_hogwild"
    num_processes: int
    """In a training of real size, where it is drawn, 0 until it is known: see as_drawn."""
    meets: bool = False
    """All processes are made to be in the middle of a step at one moment, several times.

    It also keeps a pool honest: no worker can have done two parts before the next one comes.
    """
    fails: bool = False
    """Processes that hogwild starts raise an exception, each in its last epoch."""
    to_the_end: bool = False
    """Where hogwild fails or never ends, what its processes have done until then comes back."""

    @property
    def label(self) -> str:
        """Return the number of processes and the size of the training."""
        number = self.num_processes or " or ".join(map(str, _MANY_PROCESSES))
        processes = "1 process" if number == 1 else f"{number} processes"
        failing = ", an exception in those that are started" if self.fails else ""
        return f"{processes}, {super().label}{failing}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the training's inputs, for how many processes it is, and what is to happen.

        The steps in which processes meet are drawn: they are not known beforehand.
        """
        number = self.num_processes or int(random.choice(_MANY_PROCESSES))
        steps = np.zeros(0, np.int64)
        if self.meets:
            steps = replace(self, num_processes=number)._meeting_steps(random)
        own = {
            "num_processes": number,
            "meeting_steps": steps,
            "failing_batch": _FAILING_BATCH if self.fails else 0,
            "to_the_end": self.to_the_end,
        }
        return [{**same, **own} for same in super().inputs(random, ranks, data)]

    def _meeting_steps(self, random: np.random.Generator) -> NDArray[np.int64]:
        """Return steps of every epoch, such that each process takes them in the same epoch.

        Not the first of all: whoever lets others wait from the second one on is to be seen, too. In
        real size it is the first, which shows no more than who is there.
        """
        fewest = ceil(self.num_examples // self.num_processes / self.batch_size)
        most = ceil(ceil(self.num_examples / self.num_processes) / self.batch_size)
        if self.is_real_size:
            # Each process has two or three. A second meeting would lose most of some writes.
            return np.ones(1, np.int64)
        drawn = [
            random.choice(
                np.arange(max(2, epoch * most + 1), (epoch + 1) * fewest + 1),
                size=_MEETINGS_PER_EPOCH,
                replace=False,
            )
            for epoch in range(self.epochs)
        ]
        return np.sort(np.concatenate(drawn))

    @property
    def time_limit_s(self) -> float:
        """Return more for long cases, and for many processes, each of which imports torch."""
        return super().time_limit_s if self.num_processes else 45.0

    def as_drawn(self, outcome: Outcome) -> Self:
        """Return the case with what was drawn, such as the number of processes."""
        number = int(outcome.inputs[0]["num_processes"])
        return replace(super().as_drawn(outcome), num_processes=number)

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the training's results and of who wrote where."""
        return {
            **super().results(rank, ranks),
            **{name: Array("int64", (None,)) for name in FOR_EACH_WRITE},
            "meeting": Array("int64", (3,)),
            **{name: Array("int64", (None,)) for name in FOR_EACH_STAY},
            "num_failed": Array("int64", (1,)),
            **{name: Text(max_num_chars=200) for name in ("held", "waited", "shared")},
            "raised": Text(),
            "is_early": Array("int64", (1,)),
        }


def cases() -> tuple[Hogwild, ...]:
    """Return all trainings: one launch.

    The steps are so small that the loss still falls in proportion to what has been stepped. There
    are few processes in all, for each that is spawned imports torch anew.
    """
    return (
        _training(num_processes=2, num_examples=97, meets=True),
        _training(num_processes=1, num_examples=53),
        _training(num_processes=3, num_examples=97, meets=True),
        replace(_training(num_processes=2, num_examples=24), subject="failure", fails=True),
    )


def real_size() -> Hogwild:
    """Return a training with as many processes and parameters as the assignment's.

    It is a launch of its own, since its time limit is longer. Code that fails the others never
    gets there.
    """
    training = _training(num_processes=0, num_examples=19, meets=True)
    return replace(training, subject="real size", is_real_size=True, epochs=1, batch_size=2)


def of_real_length() -> tuple[Hogwild, Digits]:
    """Return a training of up to as many batches as the assignment's, and one of a network."""
    length = _training(num_processes=2, num_examples=11)
    length = replace(length, subject="length", epochs=14, most_epochs=300, batch_size=2)
    return length, Digits(function="hogwild", num_processes=3)


def case_to_the_end() -> Hogwild:
    """Return the training in two processes, which is seen to its end whatever that is."""
    return replace(cases()[0], to_the_end=True)


def _training(*, num_processes: int, num_examples: int, meets: bool = False) -> Hogwild:
    return Hogwild(
        subject="training",
        num_processes=num_processes,
        num_examples=num_examples,
        meets=meets,
        epochs=3,
        batch_size=4,
        lr=2.0**-8,
    )
