"""Grades in a process of its own, and watches it: what the client of a container does, here.

The process that the user started stays outside: it reads nothing that a rank sends, and waits for
the judge alone, its child. A thread in the judge would not do. It stops with the judge when that is
stopped by a signal, does not run while a C library holds the interpreter's lock, and cannot
interrupt a system call in which the main thread is blocked. A watching process can end the judge
whatever it does, start a fresh one, and take over what the first has found.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator

from grader.intake.answer import signal_name
from grader.model.errors import INTERRUPTED, GraderError
from grader.model.report import Report
from grader.observe.forkserver.confinement import adopt_orphans, die_with
from grader.observe.forkserver.processes import descendants
from grader.recording.journal import PREFIX, Resume
from grader.sealed.container.resume import ContainerDied, Record, until_reported
from grader.sealed.container.watchdog import Watchdog

_TICK_S = 0.2
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
Grade = Callable[[Resume, Callable[[str], None]], Report]
"""Grades in this process; passes on the lines of its journal."""


def watched(grade: Grade, show: Callable[[Report], int], watchdog: Watchdog | None = None) -> int:
    """Return the exit code of a judge that grades and shows the report, as a child of ours.

    In the child this returns as well: what `show` has returned. A judge that dies, or does not move
    in the time that it has named, is followed by a fresh one; its test in progress is tried once
    more. To show the report may take any time. Raises GraderError where there will be no report.
    """
    with contextlib.suppress(OSError):
        adopt_orphans()
    record = Record(watchdog=watchdog, noun="judge")
    return until_reported(record, lambda: _once(grade, show, record))


def _once(grade: Grade, show: Callable[[Report], int], record: Record) -> int:
    """Have one judge grade. Raises ContainerDied if something else than the judge ended it."""
    journal, told = os.pipe()
    parent = os.getpid()
    # Interrupts are blocked until both processes are ready. An earlier one would end us, and the
    # judge with us, instead of being passed on.
    signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    pid = os.fork()
    if pid == 0:
        os.close(journal)
        die_with(parent)
        # Ctrl-C reaches all that the terminal has started: the parent passes it on, once.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        report = grade(record.resume, lambda line: _tell(told, line))
        os.close(told)  # which ends the watch
        return show(report)
    os.close(told)
    record.begin()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        is_in_time = _listen(journal, record)
        status = status_of(pid) if is_in_time else kill(pid)
    except KeyboardInterrupt:
        return _interrupted(pid)
    finally:
        os.close(journal)
    if status is not None and status >= 0 and is_in_time and not record.why_lost:
        return status
    if not end_what_is_left():
        record.give_up(
            "not graded: some of its processes did not stop; look at this submission yourself"
        )
    if not is_in_time:
        raise ContainerDied(f"it {record.watchdog.why()}")
    cause = signal_name(-status) if status else "an unknown cause"
    raise ContainerDied(record.why_lost or f"it was killed by {cause}")


def _tell(descriptor: int, line: str) -> None:
    """Write a line of the journal. A reader that has gone is no error: we end with it."""
    data = line.encode() + b"\n"
    with contextlib.suppress(BrokenPipeError):
        while data:
            data = data[os.write(descriptor, data) :]


def _listen(journal: int, record: Record) -> bool:
    """Take the journal until the judge has closed it; return whether it has kept its deadlines."""
    unread = b""
    before_s = time.monotonic()
    while True:
        ready, _, _ = select.select([journal], [], [], _TICK_S)
        now_s = time.monotonic()
        # Time in which both of us were stopped, as by Ctrl-Z in a shell, does not count.
        record.watchdog.grant(max(0.0, now_s - before_s - 2 * _TICK_S))
        before_s = now_s
        if ready:
            data = os.read(journal, 1 << 16)
            if not data:
                return True
            *lines, unread = (unread + data).split(b"\n")
            for line in lines:
                record.take(line.decode(errors="replace").removeprefix(PREFIX))
        if record.watchdog.remaining_s() <= 0:
            return False


def _interrupted(pid: int) -> int:
    """Let the judge end in order, or kill it at a second interrupt; return its exit code."""
    try:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        status = status_of(pid, ORDERLY_END_S)
    except KeyboardInterrupt:
        status = None
    if status is None or status < 0:
        kill(pid)
        raise GraderError(f"{INTERRUPTED}; nothing was graded")
    return status


KILL_LIMIT_S = 30.0
ORDERLY_END_S = 60.0
"""How long the processes of a dead judge may take to end their run and themselves."""
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
    """Wait until all processes of the judge have ended in order; kill those that have not.

    The forkserver ends its run, and itself, when the judge is gone. Return whether it could.
    """
    in_order = _have_all_ended(ORDERLY_END_S, lambda: None)
    if in_order is None:
        _have_all_ended(KILL_LIMIT_S, _kill_all)
    return in_order is True


def _have_all_ended(patience_s: float, act: Callable[[], None]) -> bool | None:
    """Return whether all our children have ended with exit code 0; None if some still run."""
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
