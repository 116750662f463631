"""What becomes of the processes that hogwild starts."""

import contextlib
import signal
from multiprocessing.process import BaseProcess, active_children

from waiting import activity, is_running

from grader.rank.toolbox import error_text, replaced

_LOOK_S = 0.1
_LOOKS_ASLEEP = 30
"""So many times in turn all that were started are asleep, and nothing is done: nothing will be."""
_MOST_LOOKS = 150
"""So many times nothing is done: who asks again and again whether to go on never sleeps."""


class ChildFailed(Exception):
    """A process that the student's code started has failed, and nobody noticed."""


class Idle(BaseException):
    """No process does anything any more."""


@contextlib.contextmanager
def processes_reported(record):
    """Let every process that is started report itself, and what it raises."""
    from observed import Reporting

    start = BaseProcess.start

    def reporting_start(process):
        if getattr(process, "_target", None) is not None:
            process._target = Reporting(process._target, record)
        elif process._start_method in (None, "fork"):
            process.run = Reporting(process.run, record)  # of a class that has its own run
        record.add("starting")
        try:
            start(process)
        except BaseException:
            record.add("not started")
            raise
        record.add("started", child=process.pid)

    with replaced(BaseProcess, "start", reporting_start):
        yield


@contextlib.contextmanager
def ended_when_idle(record):
    """Kill what was started, and raise Idle in here, once no process does anything or starts."""
    from record import STARTS, is_in_start

    num_done = num_looks = num_asleep = 0

    def look(number, frame):
        nonlocal num_done, num_looks, num_asleep
        done = record.file.stat().st_size if record.file.exists() else 0
        starts = record.events(*STARTS)
        states = [activity(each["child"]) for each in starts if each["kind"] == "started"]
        is_asleep = not any(is_running(state) for state, _ in filter(None, states))
        is_new = done != num_done or is_in_start(starts)
        num_done = done
        num_looks = 0 if is_new else num_looks + 1
        num_asleep = num_asleep + 1 if is_asleep and not is_new else 0
        if num_asleep >= _LOOKS_ASLEEP or num_looks >= _MOST_LOOKS:
            raise Idle

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        for process in active_children():
            process.kill()
            process.join()


def trained_after_return(record, num_rows):
    """Return whether processes computed gradients after hogwild had returned; wait for them.

    num_rows: examples of the whole training. Nobody is waited for once so many were trained on.
    """
    batches = record.events("batch")
    if sum(len(event["rows"]) for event in batches) >= num_rows:
        return False
    with contextlib.suppress(Idle), ended_when_idle(record):
        for process in active_children():
            process.join()
    return len(record.events("batch")) > len(batches)


def child_failure(record, error):
    """Return an exception that says what a failed process raised, not only its exit code."""
    events = record.events("raised")
    told = error_text(error, most_chars=None).strip()
    if events:
        return ChildFailed(f"{told_of(events[0])}; hogwild then raised {told}"[:1000])
    if type(error).__name__ == "ProcessRaisedException":
        return ChildFailed(f"a process that hogwild started raised {told.splitlines()[-1]}"[:1000])
    return error


def told_of(event):
    """Return in words what a process has raised, and where."""
    return (
        f"a process that hogwild started raised {event['text']} at {event['file']}:{event['line']}"
    )
