"""How far a part has come, in words: which check, on how many ranks, how much longer."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.suite.part_context import Position

_TELLING_S = 3.0
"""What has taken less says nothing yet of what is left."""
_TELLING_SHARE = 0.25
"""Nor does what came first: the first checks of a part start most of its ranks."""


@dataclass
class PartProgress:
    """One part of a grading."""

    part: str
    tell: Callable[[str], None]
    began_s: float = field(default_factory=time.monotonic)
    _estimate_s: float = float("inf")
    """The last estimate of what is left."""

    def show(self, position: Position) -> None:
        """Tell how far the part has come."""
        self.tell(self.text(position, time.monotonic() - self.began_s))

    def text(self, position: Position, elapsed_s: float) -> str:
        """Return `ring_allreduce  8 of 25 checks, 4 ranks, about 12 s left`.

        What is left is told once it falls.
        """
        ranks = "1 rank" if position.ranks == 1 else f"{position.ranks} ranks"
        told = f"{self.part}  {position.num_ended} of {position.num_tests} checks, {ranks}"
        done = position.num_ended / max(position.num_tests, 1)
        if elapsed_s < _TELLING_S or done < _TELLING_SHARE:
            return told
        before_s, self._estimate_s = self._estimate_s, elapsed_s / done - elapsed_s
        if self._estimate_s > before_s:
            return told
        return f"{told}, about {self._estimate_s:.0f} s left"
