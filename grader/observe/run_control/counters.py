"""What has been counted of the ranks of a run beside their calls: by MPI, gloo and the kernel."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.observe.run_control.rank_files import RankFiles
from grader.trace.calls import Counted
from grader.trace.sent_by_gloo import SentByGloo


@dataclass(frozen=True)
class Counters:
    """All of them at one moment; by rank, but for the last."""

    at_ns: int
    """On the clock of the calls."""
    by_mpi: Sequence[Counted | None]
    """None where MPI does not count."""
    nested: Sequence[int]
    """Calls inside of functions that MPI had called."""
    by_gloo: Sequence[SentByGloo | None]
    carried_num_bytes: int | None
    """By the kernel between all ranks; None where it is not asked."""


def read_counters(
    files: Sequence[RankFiles],
    carried_num_bytes: Callable[[], int | None],
    *,
    phases: Sequence[int],
    is_mpi: bool,
) -> Counters:
    """Return what has been counted so far.

    carried_num_bytes: asks the kernel. phases: those of the student's calls, whose messages count.
    """
    return Counters(
        time.monotonic_ns(),
        [_counted(each, phases) if is_mpi else None for each in files],
        [each.trace.num_nested() for each in files],
        [None if is_mpi or each.gloo is None else each.gloo.sent() for each in files],
        carried_num_bytes(),
    )


def _counted(files: RankFiles, phases: Sequence[int]) -> Counted | None:
    counted = files.trace.counted(phases)
    # A standalone program initialises MPI within the case: before, it counted nothing.
    is_up = counted is not None or files.trace.snapshot().initialised
    return counted if is_up else Counted((), ())
