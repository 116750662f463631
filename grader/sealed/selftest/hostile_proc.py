"""Attempts to look into /proc, of a rank that MPI connects: refused where it is the container's."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any


def try_looking_into_proc(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Ranks that MPI connects have no way into /proc."""
    yield "look at the other rank", partial(os.stat, f"/proc/{target['other']}")
    yield "list all processes", partial(os.listdir, "/proc")
