"""Waits for processes that we have started to end, and ends them: never without a limit."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator

from grader.observe.forkserver.processes import descendants

KILL_LIMIT_S = 30.0
ORDERLY_END_S = 60.0
"""What the processes of a dead judge may take to end their run and themselves."""
_PAUSE_S = 0.02


def kill(pid: int) -> int | None:
    """Kill the judge; return its exit status, None where not even that ends it for now."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return status_of(pid, KILL_LIMIT_S)


def status_of(pid: int, patience_s: float = float("inf")) -> int | None:
    """Return the exit code of a child, negative for a signal; None when it does not end in time."""
    for _ in _until(patience_s):
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return None
        if ended:
            return os.waitstatus_to_exitcode(status)
    return None


def end_what_is_left() -> bool:
    """Wait until all that the judge has started has ended, in order; end what has not.

    The forkserver ends its run, and itself, when the judge is gone. Return whether it could.
    """
    in_order = _have_all_ended(ORDERLY_END_S, lambda: None)
    if in_order is None:
        _have_all_ended(KILL_LIMIT_S, _kill_all)
    return in_order is True


def _have_all_ended(patience_s: float, act: Callable[[], None]) -> bool | None:
    """Return whether all our children have ended with exit code 0; None where some go on."""
    in_order = True
    for _ in _until(patience_s):
        act()
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                in_order = in_order and status == 0
        except ChildProcessError:
            return in_order
    return None


def _kill_all() -> None:
    for pid in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _until(patience_s: float) -> Iterator[None]:
    """Yield now and then, at least once, until time is up."""
    until_s = time.monotonic() + patience_s
    while True:
        yield
        if time.monotonic() > until_s:
            return
        time.sleep(_PAUSE_S)


def signal_name(status: int | None) -> str:
    """Return the name of the signal of a status below 0."""
    if status is None or status >= 0:
        return "an unknown cause"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
