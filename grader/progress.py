"""How far a grading has come, in words: which part, which test, how much longer."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from grader.suite.part_context import Position

_TELLING_S = 3.0
"""What has taken less says nothing yet of what is left."""
_TELLING_SHARE = 0.25
"""Nor does what came first: the first tests of a part start most of its ranks."""


@dataclass(frozen=True)
class PartProgress:
    """One part among those of a grading."""

    part: str
    number: int
    """From 1."""
    num_parts: int
    started_s: float
    """When the first part began, by time.monotonic."""
    tell: Callable[[str], None]

    def show(self, position: Position) -> None:
        """Tell how far the part has come."""
        self.tell(self.text(position, time.monotonic() - self.started_s))

    def text(self, position: Position, elapsed_s: float) -> str:
        """Return `part 2 of 5, ring_allreduce: test 9 of 24, 4 ranks, about 12 s left`."""
        ranks = "1 rank" if position.ranks == 1 else f"{position.ranks} ranks"
        part = f"part {self.number} of {self.num_parts}, {self.part}"
        test = f"test {min(position.num_ended + 1, position.num_tests)} of {position.num_tests}"
        within_part = position.num_ended / max(position.num_tests, 1)
        done = (self.number - 1 + within_part) / self.num_parts
        told = f"{part}: {test}, {ranks}"
        if elapsed_s < _TELLING_S or done < _TELLING_SHARE:
            return told
        return f"{told}, about {elapsed_s / done - elapsed_s:.0f} s left"
