"""Outcomes, traces and schedules made by hand: what a run would have brought back."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lenet_eyeriss.schedule import Matrix, Work

from grader.grading_plugin.case import Case
from grader.judge.check_failures import CheckFailure
from grader.model.finding import Fact
from grader.model.report import Outcome
from grader.trace.calls import NO_PEER, Call, RankTrace, Trace


def outcome(
    case: Case, inputs: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]
) -> Outcome:
    """Return the outcome of a case whose ranks returned `results`; no call was recorded."""
    return Outcome(
        label=case.label,
        ranks=len(inputs),
        inputs=tuple(inputs),
        results=tuple(results),
        trace=Trace(()),
        wall_time_s=0.0,
    )


@contextmanager
def failing(error: type[CheckFailure], *keys: str, **facts: Fact) -> Iterator[None]:
    """Expect a failure with just these findings, the first of which has these facts."""
    with pytest.raises(error) as caught:
        yield
    findings = caught.value.findings
    assert tuple(each.key for each in findings) == keys
    assert facts.items() <= findings[0].facts.items()


def trace_of(calls_by_rank: Sequence[Sequence[Call]]) -> Trace:
    """Return the complete trace of ranks that made these calls."""
    return Trace(
        tuple(
            RankTrace(
                rank=rank,
                calls=tuple(replace(each, sequence=i) for i, each in enumerate(calls)),
                attached=True,
                initialised=True,
                finalised=False,
                inside=-1,
                polling=False,
                progress=len(calls),
                num_failed_polls=0,
                truncated=False,
            )
            for rank, calls in enumerate(calls_by_rank)
        )
    )


def call(function: str, num_elements: int, peer: int = NO_PEER) -> Call:
    """Return a call on float32 numbers that was completed in the student's phase."""
    return Call(
        sequence=0,
        function=function,
        peer=peer,
        tag=0,
        communicator=0,
        communicator_size=-1,
        num_elements=num_elements,
        num_bytes=4 * num_elements,
        entered_ns=1,
        left_ns=2,
        completed_ns=2,
        is_send=function in ("send", "isend"),
        is_receive=function in ("recv", "irecv"),
        creates_request=function in ("isend", "irecv"),
        request_freed=False,
        cancelled=False,
        synchronous=False,
        pickled=False,
        matched_source=NO_PEER,
        matched_tag=0,
        received_num_bytes=-1,
        failed_polls=0,
        waits_for=(),
        phase=1,
        error=0,
        file="ring_allreduce.py",
        line=1,
    )


def right_schedule(ifmap: Matrix, kernel: Matrix) -> list[Work]:
    """Return a schedule that keeps to all rules, each operation as early as the model allows."""
    num_rows, num_taps = kernel.shape
    num_out_rows, num_out_cols = np.array(ifmap.shape) - kernel.shape + 1
    none = (-1, -1)
    schedule = []
    for e in range(num_out_rows):
        finished = {}
        for r in range(num_rows - 1, -1, -1):
            cycle = 0
            for f in range(num_out_cols):
                total = 0.0
                products = []
                for s in range(num_taps):
                    cycle += 1
                    products.append(float(kernel[r, s] * ifmap[r + e, f + s]))
                    places = ((r, s), (r + e, f + s))
                    schedule.append(
                        Work(cycle, (r, e), "multiply", f, *places, -1, none, products[-1])
                    )
                total = products[0]
                for s in range(1, num_taps):
                    cycle += 1
                    total += products[s]
                    schedule.append(Work(cycle, (r, e), "add", f, none, none, s, none, total))
                if r < num_rows - 1:
                    ready, psum = finished[r + 1, f]
                    cycle = max(cycle, ready) + 1
                    total += psum
                    below = (r + 1, e)
                    schedule.append(Work(cycle, (r, e), "psum", f, none, none, -1, below, total))
                finished[r, f] = (cycle, total)
    return sorted(schedule, key=lambda work: (work.cycle, work.pe))
