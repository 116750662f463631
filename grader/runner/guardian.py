"""Parent of one mpirun: ends all its processes when told to, and also when the judge has died.

Run as `python -I -S guardian.py RUN_DIR UID MEMORY_NUM_BYTES -- COMMAND...`; UID is `-` to stay
who we are. Standard input is the lifeline: whatever closes it, the judge or its death, ends the
run. Standard output tells the judge `exited STATUS` when COMMAND ended by itself. Imports nothing
of grader.

Killing: as another uid, everything that has this uid (kill(-1), which no fork can outrun); as the
student's own user, never by uid but every descendant, which a child subreaper keeps in one tree.
"""

import contextlib
import ctypes
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

_MAX_FILE_NUM_BYTES = 256 << 20
_MAX_OPEN_FILES = 1024
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38


def main(arguments: list[str]) -> None:
    """Start the command, wait for its end or for the judge's, then leave nothing behind."""
    run_dir, uid_text, memory_num_bytes, _, *command = arguments
    uid = None if uid_text == "-" else int(uid_text)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if uid is None and prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("this system has no child subreaper (prctl): Linux 3.4 or newer is needed")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        _limit(int(memory_num_bytes))
        _become_command(command, uid, prctl)
    _wait_for_the_end(child)
    if uid is not None:
        _become(uid)
    _kill_all(uid)
    _remove_contents(Path(run_dir))


def _limit(memory_num_bytes: int) -> None:
    """Limit what one process of the run may take."""
    for kind, number in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, memory_num_bytes),
        (resource.RLIMIT_FSIZE, _MAX_FILE_NUM_BYTES),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
    ):
        hard = resource.getrlimit(kind)[1]
        limit = number if hard == resource.RLIM_INFINITY else min(number, hard)
        resource.setrlimit(kind, (limit, limit))


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _become_command(command: list[str], uid: int | None, prctl: Callable[..., int]) -> None:
    """Turn the forked child into the command: other user, own session, no way back."""
    os.setsid()
    if uid is not None:
        _become(uid)
    prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    # Standard error is mpirun's log; the line to the judge stays ours alone.
    os.dup2(2, 1)
    os.closerange(3, 65536)
    try:
        os.execvp(command[0], command)  # noqa: S606 - starting it is what we are for
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def _wait_for_the_end(child: int) -> None:
    """Return when standard input is closed; tell the judge when the child ends before that."""
    running = True
    while not select.select([0], [], [], 0.05)[0]:
        while running:
            pid, status = os.waitpid(-1, os.WNOHANG) if running else (0, 0)
            if pid == 0:
                break
            if pid == child:
                running = False
                os.write(1, f"exited {os.waitstatus_to_exitcode(status)}\n".encode())


def _kill_all(uid: int | None) -> None:
    """Kill until nobody is left."""
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
    """Delete what the run wrote, as the user who wrote it: nobody else may be able to."""
    for child in (run_dir / "scratch").glob("*"):
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child, ignore_errors=True)
        else:
            child.unlink(missing_ok=True)
    shutil.rmtree(run_dir, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
