"""Says and shows who waits for whom in a run that hangs for ever."""

from grader.judge.deadlock.deadlock_cause import cause_of
from grader.judge.deadlock.deadlock_report import picture, sentence
from grader.judge.traffic.object_calls import name_lower_case
from grader.model.evidence import Deadlock
from grader.model.finding import Finding
from grader.trace.calls import Trace
from grader.trace.wait_for_graph import stalled_run, waiting_run


def find_deadlock(
    trace: Trace, returned: frozenset[int] = frozenset(), *, makes_progress: bool = False
) -> tuple[str, Deadlock, Finding] | None:
    """Return why no rank will ever go on, in a sentence, as a picture, and its cause; or None.

    trace, returned, makes_progress: as for grader.trace.wait_for_graph.stalled_run.
    """
    found = stalled_run(trace, returned, makes_progress=makes_progress)
    if found is None:
        return None
    named = waiting_run(name_lower_case(trace), returned, makes_progress=makes_progress)
    told = named or found
    drawn = picture(told)
    return sentence(told), drawn, cause_of(told, drawn)
