"""Ends every process of a run and counts to zero.

A run of a user of its own is ended by its supervisor, which kills all processes of that user. A run
of our own user shares it with the student's desktop: there every descendant of ours is killed. A
child subreaper keeps them in one tree.
"""

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

from .processes import descendants
from .remove_tree import remove_contents, unlock
from .supervisor import SOMETHING_STAYED, RunSupervisor, SupervisedRun

_MAX_ATTEMPTS = 50
_PAUSE_S = 0.02


def end_unsealed(folder: Path) -> None:
    """Kill every descendant, then remove the run's folder."""
    while True:
        victims = descendants(os.getpid())
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        if not victims:
            break
        time.sleep(0.002)
    wait_for_all()
    _remove(folder)


def end_sealed(supervisor: RunSupervisor | None, run: SupervisedRun, folder: Path) -> bool:
    """Have the supervisor end the run; return whether everything could be removed.

    A supervisor that was itself killed (None if that is known), as when memory runs out, has a
    successor. Raises OSError when not even that ends the run.
    """
    status = -1
    if supervisor is not None:
        supervisor.shut_down()
        status = _status_of(supervisor.pid)
    for _ in range(_MAX_ATTEMPTS):
        if status in (0, SOMETHING_STAYED):
            break
        # We may signal everybody here; this makes room for one more process.
        for victim in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(victim, signal.SIGKILL)
        reap()
        time.sleep(_PAUSE_S)
        with contextlib.suppress(OSError):
            successor = RunSupervisor(run)
            successor.shut_down()
            status = _status_of(successor.pid)
    else:
        raise OSError(f"the processes of a run could not be ended in {_MAX_ATTEMPTS} attempts")
    # Every process of the run is a descendant of ours, and by now our child: until it is gone
    # for good, nothing new begins.
    wait_for_all()
    _remove(folder)
    return status == 0


def _status_of(pid: int) -> int:
    """Wait for a child; return its exit code, -1 if somebody else has already taken note."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return -1


def wait_for_all() -> None:
    """Wait until we have no child."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def reap() -> None:
    """Take note of every child that has ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _remove(folder: Path) -> None:
    """Remove the run's folder; what students may write to is emptied without recursion first."""
    unlock(folder / "scratch")
    remove_contents(folder / "scratch")
    shutil.rmtree(folder, ignore_errors=True)
