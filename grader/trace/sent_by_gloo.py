"""What gloo has sent for a rank, below torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class GlooSamples:
    """Samples of what gloo has sent for one operation, at places that are drawn."""

    num_bytes: int
    """Of the payloads that they are taken of; short ones are none."""
    taken: NDArray[Any]
    """Bytes, a sample in each row."""


@dataclass(frozen=True)
class SentByGloo:
    """Bytes of payloads that gloo has sent for one rank."""

    of_messages: int
    of_collectives: int
    samples: Mapping[str, GlooSamples] | None = field(default=None, compare=False)
    """By operation, of this case; None where none were taken."""

    def since(self, before: "SentByGloo") -> "SentByGloo":
        """Return what has come to it; less than nothing where a rank has written here."""
        return replace(
            self,
            of_messages=self.of_messages - before.of_messages,
            of_collectives=self.of_collectives - before.of_collectives,
        )
