"""Grades what is not graded yet, side by side, and tells how far it is."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass

from grader.addons.classroom.executors import Submit
from grader.addons.classroom.gradings import Outcome
from grader.addons.classroom.task import Task

_LOOK_S = 1.0


@dataclass(frozen=True)
class Progress:
    """How far a batch is."""

    num_done: int
    """In this run."""
    num_left: int
    elapsed_s: float
    time_left_s: float | None
    """By what the ones before have taken; None as long as nobody knows."""


@dataclass(frozen=True)
class Ended:
    """What became of a task: how its grading ended, or why there was none."""

    task: Task
    outcome: Outcome | None
    lost: str = ""
    """Why nobody knows how it ended: its workers were lost, however often it was tried."""

    @property
    def problem(self) -> str:
        """Return why there is no grading that could be kept; empty where there is one."""
        if self.outcome is None:
            return self.lost
        return "" if self.outcome.is_final else self.outcome.error


def grade_all(
    tasks: Sequence[Task], submit: Submit, tell: Callable[[Progress, Ended | None], None]
) -> Iterator[Ended]:
    """Yield what becomes of each task, as they end.

    tell: is told how far it is, after each end (with it) and about once a second.
    """
    started_s = time.monotonic()
    futures: Mapping[Future[Outcome], Task] = {submit(task): task for task in tasks}
    left = set(futures)
    num_done = 0
    while left:
        ended, left = wait(left, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
        for future in ended:
            num_done += 1
            result = _ended(future, futures[future])
            tell(_progress(num_done, len(tasks) - num_done, started_s), result)
            yield result
        if not ended:
            tell(_progress(num_done, len(left), started_s), None)


def _progress(num_done: int, num_left: int, started_s: float) -> Progress:
    elapsed_s = time.monotonic() - started_s
    time_left_s = elapsed_s / num_done * num_left if num_done else None
    return Progress(num_done, num_left, elapsed_s, time_left_s)


def _ended(future: "Future[Outcome]", task: Task) -> Ended:
    error = future.exception()
    if error is None:
        return Ended(task, future.result())
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        raise error
    return Ended(task, None, f"{type(error).__name__}: {error}")
