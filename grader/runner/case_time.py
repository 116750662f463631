"""How long a case lasts: by the clock, and of what the machine gave it."""

from dataclasses import dataclass

MAX_SLOWDOWN = 5.0
"""A case ends after as many times its limit by the clock, however little it was given."""
_SLIGHT_SLOWDOWN = 1.2
"""Below it, what a machine has held back is nothing to speak of."""


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

    def words(self, limit_s: float) -> str:
        """Return `no answer after 10 s`; that is the limit, unless the case ends by the clock."""
        shown_s = round(self.clock_s) if self.is_starved(limit_s) else limit_s
        return f"no answer after {shown_s:g} s"

    def machines_part(self, limit_s: float) -> str:
        """Return a clause on what the machine held back; nothing where that was next to nothing."""
        if self.is_starved(limit_s):
            return (
                f"the machine was busy, twice, and gave it {max(0.0, self.given_s):.0f} s of the "
                f"{limit_s:g} s it may take, which says nothing of the submission"
            )
        if self.clock_s <= _SLIGHT_SLOWDOWN * limit_s:
            return ""
        return f"the machine was busy, so that these were {self.clock_s:.0f} s by the clock"
