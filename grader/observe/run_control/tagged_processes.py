"""Finds processes of a run by a mark in their environment, when the forkserver they had is gone."""

import contextlib
import os
import signal
import time
from pathlib import Path

_SWEEP_LIMIT_S = 10.0


def kill_marked(mark: bytes) -> None:
    """Kill all processes of our own user that were started with this variable, `NAME=value`.

    Whoever started them may itself have been killed. A process shows the environment it was started
    with; one that was started without is not found.
    """
    until_s = time.monotonic() + _SWEEP_LIMIT_S
    found = True
    while found and time.monotonic() < until_s:
        found = False
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
                    found = True
