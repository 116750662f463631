"""By when a judge has to have moved: it says so itself, a step ahead. One that does not is ended.

Only the judge knows how long a step may take, which follows from the limits of the part: a case
five times its limit, for a busy machine, and what the judge does around it. A judge that is
stopped, blocked in the kernel or in an endless loop says nothing more. One that is kept busy with
small things says nothing either: what counts is that it gets on, not that it is awake.
"""

import time
from collections.abc import Callable

from grader.recording.journal import JUDGING_S, Failing, Finished, Heartbeat, Step, Told, WholeLimit

FIRST_WORD_S = 300.0
"""What a judge may take to start and to read a submission, before it says anything."""


class Watchdog:
    """One judge's deadlines, on the watcher's clock."""

    def __init__(
        self, first_word_s: float = FIRST_WORD_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._first_word_s = first_word_s
        self._clock = clock
        self._whole_until_s = float("inf")
        self._has_whole_limit = False
        self.begin()

    def begin(self) -> None:
        """Expect the first word of a fresh judge. What remains of the whole grading remains."""
        if self.is_out_of_time:
            self._whole_until_s = float("inf")
        self._expect("starting", self._first_word_s)

    def heard(self, told: Told) -> None:
        """Take note that the judge has moved."""
        if isinstance(told, Heartbeat):
            self._expect(told.doing, told.within_s)
        elif isinstance(told, Step | Finished | Failing):
            self._expect("judging", JUDGING_S)
        elif isinstance(told, WholeLimit) and not self._has_whole_limit:
            # A fresh judge says it anew: it goes on from the first.
            self._has_whole_limit = True
            self._whole_until_s = self._clock() + told.within_s

    def _expect(self, doing: str, within_s: float) -> None:
        self._doing, self._within_s = doing, within_s
        self._until_s = self._clock() + within_s

    def remaining_s(self) -> float:
        """Return how long the judge may still be silent; not above 0 when it has to be ended."""
        return min(self._until_s, self._whole_until_s) - self._clock()

    @property
    def is_out_of_time(self) -> bool:
        """Return whether the time of the whole grading is over."""
        return self._clock() >= self._whole_until_s

    def grant(self, waited_s: float) -> None:
        """Give back time in which nobody could have heard the judge, as we were stopped."""
        self._until_s += waited_s
        self._whole_until_s += waited_s

    def why(self) -> str:
        """Return, for a judge that has to be ended, what was expected of it."""
        if self._whole_until_s < self._until_s:
            return "exceeded the total time limit for all parts"
        return f"made no progress for {self._within_s:.0f} s ({self._doing})"
