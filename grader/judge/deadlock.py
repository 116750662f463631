"""Says and shows who waits for whom in a run that hangs for ever."""

from grader.evidence import Deadlock
from grader.judge.lower_case import name_lower_case
from grader.judge.reasons import picture, sentence
from grader.mpi.stalled_run import stalled_run, waiting_run
from grader.trace.calls import Trace


def find_deadlock(
    trace: Trace, returned: frozenset[int] = frozenset(), *, makes_progress: bool = False
) -> tuple[str, Deadlock] | None:
    """Return why no rank will ever go on, as a sentence and to be drawn; None while any may.

    trace, returned, makes_progress: as for grader.mpi.stalled_run.stalled_run.
    """
    found = stalled_run(trace, returned, makes_progress=makes_progress)
    if found is None:
        return None
    named = waiting_run(name_lower_case(trace), returned, makes_progress=makes_progress)
    told = named or found
    return sentence(told), picture(told)
