"""What a suite says of one input to one call: what goes into each rank, what must come back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.course.data import Data
from grader.model.report import Array, MessageFault, Text

__all__ = ["Array", "Case", "Data", "MessageFault", "Text"]

YARDSTICK = "yardstick"
"""The `purpose` of a case that calls nothing of the submission: the time of others is compared with
its own. Such cases are put to ranks of their own, in which no line of the submission is."""
TIMING = "timing"
"""The `purpose` of a case whose time is compared with that of yardsticks."""


@dataclass(frozen=True)
class Case:
    """One seeded input to one call of a probe; subclasses add their own hashable fields."""

    probe: str
    """The function of the probes that makes the call."""
    synchronous_sends: bool = False
    """Rendezvous mode: every standard-mode send waits for its receive."""
    message_fault: MessageFault | None = None
    """A message to alter in transit. Such cases get their own launch, which may end early."""
    repetition: int = 0
    """Tells cases apart in which nothing is changed, of such a launch."""
    subject: str = field(default="", kw_only=True)
    """What the case is about. When one ends its run, the others of its subject are left out."""

    call: str = field(default="", kw_only=True)
    """Which function of the submission is called, where a part asks for several. Each may be handed
    in without the others, so that one that is not written says nothing of the others."""
    all_calls_count: bool = field(default=False, kw_only=True)
    """Of torch.distributed: rules are about every call of the case, not only those of the student's
    phase. For a probe that makes none itself: within a rank anybody may say which phase it is."""

    @property
    def label(self) -> str:
        """Return the words that name this case to a student; unique within one run."""
        raise NotImplementedError

    @property
    def is_timed(self) -> bool:
        """Return whether the time of the case decides something: it is measured with more care."""
        return getattr(self, "purpose", "") in (YARDSTICK, TIMING)

    @property
    def time_limit_s(self) -> float:
        """Return what it may take, where its own work needs more than the part's other cases."""
        return 0.0

    @property
    def perturbation(self) -> str:
        """Return how the messages of this case are interfered with, for the end of a label."""
        return (
            (", no buffering" if self.synchronous_sends else "")
            + (f", {self.message_fault.text}" if self.message_fault else "")
            + (f", nothing altered ({self.repetition})" if self.repetition else "")
        )

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return each rank's keyword arguments for the probe: numpy arrays or JSON values.

        data: the images of this grading, for inputs that are made of real ones.
        """
        raise NotImplementedError

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return what the probe of `rank` must give back."""
        raise NotImplementedError


def is_yardstick(case: Case) -> bool:
    """Return whether a case is put to ranks without the submission."""
    return getattr(case, "purpose", "") == YARDSTICK
