"""How far a grading has come, in words: which check, on how many ranks, how much longer."""

import time
from collections.abc import Callable

from grader.grading_plugin.part_context import Position
from grader.model.plural import counted

_TELLING_S = 3.0
"""What has taken less says nothing yet of what is left."""
_TELLING_SHARE = 0.25
"""Nor does what came first: the first checks of a part start most of its ranks."""


class Progress:
    """Tells of the part in progress. Hidden tests are told of by their name only."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._part = ""
        self._began_s = 0.0
        self._estimate_s = float("inf")
        """The last estimate of what is left."""

    def begin(self, part: str, *, is_hidden: bool = False) -> None:
        """Tell that a part starts, or with `is_hidden` the hidden tests of all parts."""
        self._part = "" if is_hidden else part
        self._began_s, self._estimate_s = time.monotonic(), float("inf")
        self._tell(f"{part}: starting")

    def show(self, position: Position) -> None:
        """Tell how far the part has come."""
        self._tell(self.text(position, time.monotonic() - self._began_s))

    def silent_rank(self, rank: int, place: tuple[str, int] | None) -> None:
        """Tell which rank computes for long without a message, and at which line."""
        if self._part:
            where = f" at {place[0]}:{place[1]}" if place else ""
            self._tell(f"{self._part}  rank {rank} still computing{where}")

    def text(self, position: Position, elapsed_s: float) -> str:
        """Return `ring_allreduce  8 of 25 checks, 4 ranks, about 12 s left`.

        What is left is told once it falls.
        """
        ranks = counted(position.ranks, "rank")
        told = f"{self._part}  {position.num_ended} of {position.num_tests} checks, {ranks}"
        done = position.num_ended / max(position.num_tests, 1)
        if elapsed_s < _TELLING_S or done < _TELLING_SHARE:
            return told
        before_s, self._estimate_s = self._estimate_s, elapsed_s / done - elapsed_s
        if self._estimate_s > before_s:
            return told
        return f"{told}, about {self._estimate_s:.0f} s left"
