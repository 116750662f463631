"""What `grade trace` may have to show, without any launch."""

from typing import Any

from unit.judge.build import Run

from grader.addons.trace_views.trace_page import trace_page
from grader.addons.trace_views.trace_rows import Traced, TracedCase
from grader.model.report import RunFailure, TestResult, Verdict
from grader.report.terminal_page import Page
from grader.trace.calls import Trace

DEADLOCK = RunFailure(Verdict.DEADLOCK, "deadlock: rank 0 waits in Wait; cycle 0 -> 1 -> 0")


def traced(trace: Trace, failure: RunFailure | None = None, **fields: Any) -> Traced:
    """Return a trace of the second of three cases."""
    number, size = trace.num_calls, len(trace.ranks)
    chosen = a_case(2, ranks=size, num_calls=number, failure=failure, trace=trace)
    values = {
        "assignment": "sums",
        "part": "ring",
        "submission": "some/folder",
        "tests": (TestResult("test_any_length", "It is right.", Verdict.ACCEPTED, 1, 1),),
        "cases": (a_case(1), chosen, a_case(3, launch=2, failure=DEADLOCK)),
        "chosen": chosen,
    }
    return Traced(**{**values, **fields})  # type: ignore[arg-type]


def a_case(number: int, **fields: Any) -> TracedCase:
    values = {"launch": 1, "test": "test_any_length", "ranks": 2, "num_calls": 4, "failure": None}
    label = fields.pop("label", f"length {number}")
    return TracedCase(number=number, label=label, **{**values, **fields})


def lines_of(
    shown: Traced,
    *,
    limit: int = 40,
    width: int = 80,
    colour: bool = False,
) -> list[str]:
    """Return the page in lines."""
    page = Page(colour=colour, plain=not colour, width=width, verbose=False)
    return trace_page(shown, page, limit).split("\n")


def exchange(times: int = 1, num_ranks: int = 2) -> Run:
    """Return a run in which each rank sends to the next, so many times."""
    run = Run(num_ranks)
    for _ in range(times):
        for rank in range(num_ranks):
            sent = run.isend(rank, (rank + 1) % num_ranks, line=13)
            got = run.irecv(rank, (rank - 1) % num_ranks, 0, line=14)
            run.complete(rank, got, (rank - 1) % num_ranks, 0)
            wait = run.wait(rank, sent, function="Waitall")
            run.change(rank, wait, line=15, waits_for=(sent, got), entered_ns=1)
    return run
