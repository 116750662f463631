"""Calls and schedules made by hand, and what a check says of them."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from lenet_eyeriss.schedule import Matrix, Work

from grader.judge.check_failures import CheckFailure
from grader.model.finding import Fact
from grader.trace.calls import NO_PEER, Call

from ...judge import build


@contextmanager
def failing(error: type[CheckFailure], *keys: str, **facts: Fact) -> Iterator[None]:
    """Expect a failure with just these findings, the first of which has these facts."""
    with pytest.raises(error) as caught:
        yield
    findings = caught.value.findings
    assert tuple(each.key for each in findings) == keys
    assert facts.items() <= findings[0].facts.items()


def call(function: str, num_elements: int, peer: int = NO_PEER) -> Call:
    """Return a call on float32 numbers that was completed in the student's phase."""
    fields = {"num_elements": num_elements, "num_bytes": 4 * num_elements, "peer": peer}
    return build.call(function, **fields, file="ring_allreduce.py")


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
