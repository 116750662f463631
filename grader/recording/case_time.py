"""How long a case lasts: by the clock, and of what the machine gave it."""

from dataclasses import dataclass

MAX_SLOWDOWN = 5.0
"""A case ends after as many times its limit by the clock, however little it was given."""


@dataclass(frozen=True)
class CaseTime:
    """What has passed since the inputs of a case were handed out."""

    clock_s: float
    denied_s: float
    """In which the run's processes could have run, and the machine let others; 0 if not known."""

    @property
    def given_s(self) -> float:
        """Return how long it would have taken on a machine of its own."""
        return self.clock_s - self.denied_s

    @property
    def compared_s(self) -> float:
        """Return what counts where times are compared.

        Not less than a part of the clock: who keeps its own processes waiting becomes no faster
        than that.
        """
        return min(max(self.given_s, self.clock_s / MAX_SLOWDOWN), self.clock_s)

    def is_up(self, limit_s: float) -> bool:
        """Return whether the case has had its time, or takes too long for anybody to wait for."""
        return self.given_s > limit_s or self.is_starved(limit_s)

    def is_starved(self, limit_s: float) -> bool:
        """Return whether it ends by the clock, before it was given its time: that proves little."""
        return self.given_s <= limit_s and self.clock_s > MAX_SLOWDOWN * limit_s
