"""What becomes of the processes that hogwild starts."""

import contextlib
from multiprocessing.process import BaseProcess

from grader.rank.toolbox import error_text, replaced


class ChildFailed(Exception):
    """A process that the student's code started has failed, and nobody noticed."""


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
        start(process)
        record.add("started", child=process.pid)

    with replaced(BaseProcess, "start", reporting_start):
        yield


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
