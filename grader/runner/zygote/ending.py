"""Ends every process of a run and counts to zero.

As another user: everything that has this uid (kill(-1), which no fork can outrun). As our own user,
which is the student's desktop: never by uid, but every descendant, which a child subreaper keeps in
one tree.
"""

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

from .confinement import act_for

_WRITABLE_BY_ALL = ("/dev/shm", "/tmp", "/var/tmp")  # noqa: S108 - they are only tidied up


def end_all(uid: int | None, run_dir: Path) -> None:
    """Kill all processes of the run, then remove what it wrote, as the user who wrote it."""
    if uid is None:
        _kill_until_none(None)
        _remove_contents(run_dir)
        return
    while True:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                act_for(uid)
                _kill_until_none(uid)
                _remove_contents(run_dir)
                _remove_belongings(uid)
                status = 0
            finally:
                os._exit(status)
        if os.waitpid(child, 0)[1] == 0:
            break
    _reap()


def _kill_until_none(uid: int | None) -> None:
    while True:
        if uid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        victims = _processes_of(uid) if uid is not None else _descendants()
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        _reap()
        if not victims:
            return
        time.sleep(0.002)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _status_fields() -> list[tuple[int, str, int]]:
    """Return (pid, state, parent pid) of every process that still exists."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            found.append((int(entry.name), fields[0].decode(), int(fields[1])))
    return found


def _descendants() -> list[int]:
    """Return every living process below this one."""
    processes = _status_fields()
    tree = {os.getpid()}
    grew = True
    while grew:
        grew = False
        for pid, _, parent in processes:
            if parent in tree and pid not in tree:
                tree.add(pid)
                grew = True
    return [pid for pid, state, _ in processes if pid in tree - {os.getpid()} and state not in "ZX"]


def _processes_of(uid: int) -> list[int]:
    """Return every living process of this uid but ourselves."""
    found = []
    for pid, state, _ in _status_fields():
        try:
            owner = Path(f"/proc/{pid}").stat().st_uid
        except OSError:
            continue
        if owner == uid and pid != os.getpid() and state not in "ZX":
            found.append(pid)
    return found


def _remove_contents(run_dir: Path) -> None:
    for child in (run_dir / "scratch").glob("*"):
        _remove(child)
    shutil.rmtree(run_dir, ignore_errors=True)


def _remove_belongings(uid: int) -> None:
    """Remove what the run's user left where everybody may write: no later run is to find it."""
    for folder in map(Path, _WRITABLE_BY_ALL):
        for child in folder.glob("*"):
            with contextlib.suppress(OSError):
                if child.lstat().st_uid == uid:
                    _remove(child)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
