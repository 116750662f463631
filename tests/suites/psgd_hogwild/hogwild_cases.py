"""What hogwild is called with: trainings of a small model in one process and in several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.api import Array, Data, Text

from .training_cases import Training

FOR_EACH_WRITE = ("writers", "written", "written_is_shared")
_FIRST_MEETING_STEP, _LAST_MEETING_STEP = 2, 8
"""Steps that each process has in its first epoch."""
_FAILING_BATCH = 8
"""Of the 9 that each of two processes has of 24 examples: nobody waits for another by then."""


@dataclass(frozen=True, kw_only=True)
class Hogwild(Training):
    """One call of hogwild, in a process that is no rank of anything."""

    probe: str = "train_hogwild"
    num_processes: int
    meets: bool = False
    """All processes are made to be in the middle of a step at one moment.

    It also keeps a pool honest: no worker can have done two parts before the next one comes.
    """
    fails: bool = False
    """Processes that hogwild starts raise an exception, each in its last epoch."""

    @property
    def label(self) -> str:
        """Return the number of processes and the size of the training."""
        processes = "1 process" if self.num_processes == 1 else f"{self.num_processes} processes"
        failing = ", an exception in those that are started" if self.fails else ""
        return f"{processes}, {super().label}{failing}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the training's inputs, for how many processes it is, and what is to happen.

        The step in which processes meet is drawn: it is not known beforehand.
        """
        step = int(random.integers(_FIRST_MEETING_STEP, _LAST_MEETING_STEP, endpoint=True))
        own = {
            "num_processes": self.num_processes,
            "meeting_step": step if self.meets else 0,
            "failing_batch": _FAILING_BATCH if self.fails else 0,
        }
        return [{**same, **own} for same in super().inputs(random, ranks, data)]

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the training's results and of who wrote where."""
        return {
            **super().results(rank, ranks),
            **{name: Array("int64", (None,)) for name in FOR_EACH_WRITE},
            "meeting": Array("int64", (3,)),
            "num_failed": Array("int64", (1,)),
            **{name: Text(max_num_chars=200) for name in ("held", "waited", "shared")},
            "raised": Text(),
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
