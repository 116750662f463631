"""What sealed grading needs of a container engine, whichever it is."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from grader.container.output import Source
from grader.container.watchdog import FIRST_WORD_S

DATA_IN_CONTAINER = "/data"
SHARED_IN_CONTAINER = "/ranks"
"""Where a folder in memory lies that two containers share."""
SOURCE_LABEL = "grader.engine-digest"
CLIENT_LABEL = "grader.client"
"""Names the process that a container or a folder is for; without it, they are left over."""


@dataclass(frozen=True)
class ContainerLimits:
    """What a container may use; all of it holds for everything inside together."""

    memory_num_bytes: int = 4 << 30
    shared_memory_num_bytes: int = 256 << 20
    num_processes: int = 512
    cpus: str = ""
    """Processors, such as `0-3,8`; empty for all that there are."""
    first_word_s: float = FIRST_WORD_S
    """How long it may be silent at first; then it says itself how long the next step may take."""


@dataclass(frozen=True)
class ContainerPlan:
    """A hardened container that removes itself when it ends."""

    image: str
    command: Sequence[str]
    limits: ContainerLimits
    environment: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    """A folder that it may read at DATA_IN_CONTAINER."""
    shares: bool = False
    """It brings a folder at SHARED_IN_CONTAINER, in memory, which goes with the last user."""
    shares_with: str | None = None
    """The container whose shared folder it sees as well."""


class Started(Source, Protocol):
    """A running container: its standard streams and its end."""

    def sendall(self, data: bytes, /) -> None:
        """Send to standard input; it ends when the connection is closed."""

    def exit_code(self) -> int | None:
        """Return it once the output has ended; None when nobody knows it."""

    def close(self) -> None:
        """Close both directions."""


class Engine(Protocol):
    """What is needed of Docker or podman. Every method raises GraderError, one clear sentence."""

    def create(self, plan: ContainerPlan) -> str:
        """Make a container; return its id."""

    def start(self, container: str, limits: ContainerLimits) -> Started:
        """Start it, connected to all three streams before the first byte can be lost."""

    def remove(self, container: str) -> None:
        """Kill and remove it, if it is still there."""

    def source_of(self, image: str) -> str:
        """Return the digest of the sources that an image was built from."""

    def image_id(self, image: str) -> str:
        """Return what identifies the content of an image."""


def client() -> str:
    """Return this process's name for CLIENT_LABEL."""
    return name_of_client(os.getpid())


def name_of_client(pid: int) -> str:
    """Return the name of a process of this machine for CLIENT_LABEL."""
    return f"{_numbering()}:{pid}"


def has_gone(client: str) -> bool:
    """Return whether a client is a process of this machine that is certainly there no more."""
    numbering, _, pid = client.rpartition(":")
    if numbering != _numbering() or not (pid.isascii() and pid.isdigit()):
        return False
    try:
        # Not /proc, which may hide processes of others, and which some systems do not have.
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _numbering() -> str:
    """Return the machine, and where it has several the namespace, in which our pid is ours."""
    namespace = Path("/proc/self/ns/pid")
    try:
        return f"{socket.gethostname()}/{namespace.readlink()}"
    except OSError:
        return socket.gethostname()
