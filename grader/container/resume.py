"""What the client makes of a container's death: what is kept, and whether to start another."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from grader.errors import GraderError
from grader.journal import Finished, Resume, Step, parse

MAX_CONTAINERS = 4
"""The last of them tries no more tests: it only puts the report together."""
_PATIENCE_S = 60.0
"""How long an engine that has gone may take to come back."""
_PAUSE_S = 1.0
Result = TypeVar("Result")


class ContainerDied(GraderError):
    """A container ended without a whole report, and not by its own decision."""


class Record:
    """What has come of a grading, over all its containers."""

    def __init__(self, on_finished: Callable[[Finished], None] = lambda finished: None) -> None:
        """on_finished: is told what became of a test."""
        self._on_finished = on_finished
        self._resume = Resume()
        self._in_progress: Step | None = None
        self._deaths: Counter[Step | None] = Counter()

    @property
    def num_deaths(self) -> int:
        """Return how many containers have died."""
        return self._deaths.total()

    @property
    def resume(self) -> Resume:
        """Return what the next container is told."""
        return self._resume

    def take(self, line: str) -> None:
        """Keep a line of the journal, given without its prefix."""
        told = parse(line, self._resume.key)
        if isinstance(told, Finished):
            self._resume = replace(self._resume, finished=(*self._resume.finished, told))
            self._in_progress = None
            self._on_finished(told)
        elif told is not None:
            self._in_progress = told

    def died(self, death: ContainerDied) -> None:
        """Take note that the container has died. Raises GraderError when no other is worth it."""
        step, self._in_progress = self._in_progress, None
        self._deaths[step] += 1
        resume, times = self._resume, self._deaths[step]
        if self.num_deaths == MAX_CONTAINERS or (
            step is None and times > 1 and not resume.finished and not resume.lost
        ):
            raise GraderError(str(death))
        lost, gave_up = dict(resume.lost), resume.gave_up
        if step is not None and times > 1:
            lost[step] = f"the grading container was killed twice during this test ({death})"
        if self.num_deaths == MAX_CONTAINERS - 1 or (step is None and times > 1):
            gave_up = (
                f"not graded: the grading container was killed {self.num_deaths} times ({death})"
            )
        number = "once" if self.num_deaths == 1 else f"{self.num_deaths} times"
        note = (
            f"the grading container was killed {number} ({death}); the tests that had ended by "
            "then were kept, the others went on in a fresh container"
        )
        self._resume = replace(resume, lost=lost, gave_up=gave_up, notes=(note,))


def until_reported(record: Record, grade_once: Callable[[], Result]) -> Result:
    """Grade, in a fresh container for each that dies; return what the last one reports.

    Raises GraderError when there will be no report.
    """
    while True:
        try:
            return grade_once()
        except ContainerDied as found:
            death = found
        record.died(death)


def when_engine_is_back(record: Record, start: Callable[[], Result]) -> Result:
    """Start something; after a death, which may be the engine's own, try for a while.

    Raises GraderError when the engine does not come back.
    """
    until_s = time.monotonic() + (_PATIENCE_S if record.num_deaths else 0.0)
    while True:
        try:
            return start()
        except GraderError:
            if time.monotonic() >= until_s:
                raise
            time.sleep(_PAUSE_S)
