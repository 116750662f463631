"""What a container of ours is started with, and whose it is."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.sealed.container.watchdog import FIRST_WORD_S

DATA_IN_CONTAINER = "/data"
SOURCE_LABEL = "grader.engine-digest"
COURSE_LABEL = "grader.course"
"""Name and digest of the course that an image grades by, as `grade --version` prints them."""
CLIENT_LABEL = "grader.client"
"""Names the process that a container is for; without that process, it is left over."""


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
    image_id: str = ""
    """What the name stood for; empty for what it stands for when the container is made."""
    kernel_refused: str = ""
    """The boot under which this image has passed the attempts on the kernel; empty for none."""
    data: Path | None = None
    """A folder that it may read at DATA_IN_CONTAINER."""


def client(pid: int | None = None) -> str:
    """Return the name of a process of this machine, by default of this one, for CLIENT_LABEL."""
    return f"{_numbering()}:{pid or os.getpid()}"


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
