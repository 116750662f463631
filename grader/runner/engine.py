"""What the sealed door needs of a container engine, whichever it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grader.runner.container_output import Source

DATA_IN_CONTAINER = "/data"


@dataclass(frozen=True)
class ContainerLimits:
    """What a container may use; all of it holds the judge and the ranks together."""

    memory_num_bytes: int = 4 << 30
    shared_memory_num_bytes: int = 256 << 20
    num_processes: int = 256
    time_s: float = 1800.0


class Connection(Source, Protocol):
    """The standard streams of a container."""

    def sendall(self, data: bytes, /) -> None:
        """Send to standard input; it ends when the connection is closed."""

    def close(self) -> None:
        """Close both directions."""


class Engine(Protocol):
    """What is needed of Docker. Every method raises GraderError with one clear sentence."""

    def create(
        self, image: str, command: Sequence[str], limits: ContainerLimits, data: Path | None
    ) -> str:
        """Make a hardened container that removes itself when it ends; return its id.

        data: a folder that it may read at DATA_IN_CONTAINER.
        """

    def attach(self, container: str, limits: ContainerLimits) -> Connection:
        """Connect to the streams of a container that has not started yet."""

    def start(self, container: str) -> Callable[[], int | None]:
        """Start it; return a function that waits for its end and gives the exit code."""

    def remove(self, container: str) -> None:
        """Kill and remove it, if it is still there."""
