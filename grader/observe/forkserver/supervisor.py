"""A process for each run of a user of its own, forked before any of the student's code runs.

It watches what the run uses, kills everything that its user has, and removes what that user wrote.
While it waits it needs nothing that a run could use up: no fork, and next to no memory.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .control_group import ControlGroup
from .memory import private_num_bytes
from .processes import descendants, owned_by
from .remove_tree import names_in, remove_contents, unlock
from .run_users import RunUsers, own_folders, remove_own_folders

WRITABLE_BY_ALL = ("/dev/shm", "/tmp", "/var/tmp", "/run/lock")  # noqa: S108 - they are tidied up
_TICK_S = 0.01
_MEMORY_SHARE, _PROCESSES_SHARE = 0.80, 0.85
"""Of what the container has: beyond, the judge itself would soon find nothing."""
_MAX_ATTEMPTS = 50
_PAUSE_S = 0.02
_JUDGE_NUM_BYTES = 256 << 20
"""What the judge may hold when a run begins before others than the run pay for it."""
SOMETHING_STAYED = 3
"""Exit status when files could not be removed, which a second attempt would not change."""


@dataclass(frozen=True)
class SupervisedRun:
    """What a supervisor is responsible for."""

    users: RunUsers
    scratch: Path
    """What users of the run may write to lies in this folder."""
    memory_num_bytes: int
    """What the whole run may use."""
    group: ControlGroup
    judge: int = 0
    """The process of the judge, whose memory is not the run's; 0 for none."""

    def writable_by(self, uid: int) -> tuple[Path, ...]:
        """Return the folders that this user of the run may write to."""
        users = self.users
        ranks = [each for each in range(users.ranks) if uid in (users.first, users.of_rank(each))]
        own = [folder for rank in ranks for folder in own_folders(self.scratch, rank)]
        return (self.scratch, *own, *map(Path, WRITABLE_BY_ALL))


class RunSupervisor:
    """The forkserver's end: starting one, and ending the run."""

    def __init__(self, run: SupervisedRun) -> None:
        """Fork it; raises OSError when that fails."""
        # Before there is any rank: what the first takes at once would count as there before.
        limits = _Limits.of(run)
        self.connection, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                self.connection.close()
                status = _supervise(run, limits, theirs)
            finally:
                os._exit(status)
        theirs.close()
        self.connection.setblocking(False)
        self._unread = b""

    def said(self) -> list[dict[str, Any]]:
        """Return what it has told since it was last asked."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            self._unread += self.connection.recv(1 << 12)
        *lines, self._unread = self._unread.split(b"\n")
        return [json.loads(line) for line in lines]

    def shut_down(self) -> None:
        """Have it kill and remove everything and then end."""
        self.connection.close()


def _supervise(run: SupervisedRun, limits: "_Limits", forkserver: socket.socket) -> int:
    """Watch until the forkserver wants the run ended, or has gone; return our exit status."""
    # That our standard output is still open tells the judge that we are at work.
    os.close(0)
    signal.set_wakeup_fd(-1)
    told = False
    while not select.select([forkserver], [], [], _TICK_S)[0]:
        if told:
            continue
        for excess in limits.exceeded(run):
            told = True
            with contextlib.suppress(OSError):
                # Before the first process dies: nobody is to wonder why.
                forkserver.sendall(json.dumps({"excess": excess}).encode() + b"\n")
            kill_all_of(run.users)
            break
    kill_all_of(run.users)
    return 0 if _clean(run) else SOMETHING_STAYED


@dataclass(frozen=True)
class _Limits:
    """At which numbers of the control group the run has to end."""

    memory_before_num_bytes: int
    """Without the judge's."""
    memory_num_bytes: int
    max_processes: float

    @classmethod
    def of(cls, run: SupervisedRun) -> "_Limits":
        group = run.group
        judge = private_num_bytes(run.judge)
        before = (group.memory_num_bytes() or 0) - judge
        allowed = run.memory_num_bytes
        if group.memory_limit_num_bytes is not None:
            share = int(group.memory_limit_num_bytes * _MEMORY_SHARE)
            allowed = min(allowed, max(0, share - before - min(judge, _JUDGE_NUM_BYTES)))
        processes = float("inf")
        if group.max_processes is not None:
            processes = group.max_processes * _PROCESSES_SHARE
        return cls(before, allowed, processes)

    def exceeded(self, run: SupervisedRun) -> Iterator[dict[str, Any]]:
        """Yield what is exceeded now."""
        group = run.group
        most = self.memory_before_num_bytes + self.memory_num_bytes
        used = group.memory_num_bytes(at_least=most)
        if used is not None and used > most:
            used -= private_num_bytes(run.judge)
        if used is not None and used > most:
            used -= self.memory_before_num_bytes
            yield {"kind": "memory", "used": used, "allowed": self.memory_num_bytes}
        processes = group.num_processes()
        if processes is not None and processes > self.max_processes:
            allowed = int(self.max_processes)
            yield {"kind": "processes", "used": processes, "allowed": allowed}


def kill_all_of(users: RunUsers) -> None:
    """Kill every process that one of them may, until there is none of theirs; become them for it.

    One signal to all processes of a user, which no fork can outrun.
    """
    while True:
        for uid in users.all:
            users.act_for(uid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)
        if not owned_by(users.all):
            return
        time.sleep(0.002)


def _clean(run: SupervisedRun) -> bool:
    """Remove all that the run's users left, so that no later run finds it; return whether it went.

    System V memory and message queues are no files: no process of a run can make them.
    """
    stayed: list[str] = []
    # What all may enter comes first: the folders of ranks lie in it.
    for uid in run.users.all:
        run.users.act_for(uid)
        for folder in run.writable_by(uid):
            unlock(folder)
    for uid in run.users.all:
        run.users.act_for(uid)
        for folder in run.writable_by(uid):
            remove_contents(folder, uid)
            stayed += names_in(folder, uid)
    run.users.act_for(0)
    remove_own_folders(run.users, run.scratch)
    return not stayed


def end_unsealed(folder: Path) -> None:
    """End a run of our own user, who has a desktop as well: kill descendants, remove its folder."""
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
        raise OSError(f"the processes of a run could not be stopped in {_MAX_ATTEMPTS} attempts")
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
