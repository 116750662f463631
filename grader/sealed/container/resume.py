"""What is made of the death of a container, or of a judge: what is kept, whether to try again."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from grader.model.errors import GraderError
from grader.recording.journal import Failing, Finished, Lost, Resume, Step, parse
from grader.sealed.container.watchdog import Watchdog

MAX_CONTAINERS = 4
"""The last of them tries no more tests: it only puts the report together."""
_PATIENCE_S = 60.0
"""How long an engine that has gone may take to come back."""
_PAUSE_S = 1.0
_LOOK = "; look at this submission yourself"
Result = TypeVar("Result")


class ContainerDied(GraderError):
    """A container ended without a whole report, and not by its own decision."""


class Record:
    """What has come of a grading, over all its containers."""

    def __init__(
        self,
        on_finished: Callable[[Finished | Failing], None] = lambda told: None,
        watchdog: Watchdog | None = None,
        noun: str = "grading container",
    ) -> None:
        """on_finished: is told what becomes of a test; noun: what it is that dies."""
        self._noun = noun
        self._on_finished = on_finished
        self.watchdog = watchdog or Watchdog()
        self.why_lost = ""
        """Why the judge cannot go on where it is, when it said so."""
        self.resume = Resume()
        """What the next container is told."""
        self._in_progress: Step | None = None
        self._deaths: Counter[Step | None] = Counter()

    @property
    def num_deaths(self) -> int:
        """Return how many containers have died."""
        return self._deaths.total()

    def take(self, line: str) -> None:
        """Keep a line of the journal, given without its prefix."""
        told = parse(line, self.resume.key)
        if told is None:
            return
        self.watchdog.heard(told)
        if isinstance(told, Finished):
            self.resume = replace(self.resume, finished=(*self.resume.finished, told))
            self._in_progress = None
            self._on_finished(told)
        elif isinstance(told, Failing):
            self._on_finished(told)
        elif isinstance(told, Step):
            self._in_progress = told
        elif isinstance(told, Lost):
            self.why_lost = told.why

    def begin(self) -> None:
        """Take note that a fresh judge starts."""
        self.why_lost = ""
        self.watchdog.begin()

    def give_up(self, why: str) -> None:
        """Have the next judge try no test, and only put the report together."""
        self.resume = replace(self.resume, gave_up=self.resume.gave_up or why)

    def died(self, death: ContainerDied) -> None:
        """Take note that the container has died. Raises GraderError when no other is worth it."""
        step, self._in_progress = self._in_progress, None
        self._deaths[step] += 1
        resume, times = self.resume, self._deaths[step]
        if self.num_deaths == MAX_CONTAINERS or (
            step is None and times > 1 and not resume.finished and not resume.lost
        ):
            raise GraderError(f"{death}{_LOOK if times > 1 else ''}")
        lost, gave_up = resume.lost, resume.gave_up
        if step is not None and times > 1:
            why = f"the {self._noun} was killed twice during this check ({death}){_LOOK}"
            lost = (*lost, (step, why))
        number = "once" if self.num_deaths == 1 else f"{self.num_deaths} times"
        if (
            self.num_deaths == MAX_CONTAINERS - 1
            or (step is None and times > 1)
            or self.watchdog.is_out_of_time
        ):
            gave_up = gave_up or f"not graded: the {self._noun} was killed {number} ({death})"
        note = (
            f"the {self._noun} was killed {number} ({death}); finished checks were kept, and "
            f"the others ran in a fresh {self._noun}"
        )
        self.resume = replace(resume, lost=lost, gave_up=gave_up, notes=(note,))


def until_reported(record: Record, grade_once: Callable[[], Result]) -> Result:
    """Grade, in a fresh container for each that dies. Raises GraderError without a report."""
    while True:
        try:
            return grade_once()
        except ContainerDied as found:
            death = found
        record.died(death)


def when_engine_is_back(record: Record, start: Callable[[], Result]) -> Result:
    """Start something; after a death, try for a while. Raises GraderError."""
    until_s = time.monotonic() + (_PATIENCE_S if record.num_deaths else 0.0)
    while True:
        try:
            return start()
        except GraderError:
            if time.monotonic() >= until_s:
                raise
            time.sleep(_PAUSE_S)
