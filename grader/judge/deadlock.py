"""Decides whether a run hangs for ever; if so, says and shows who waits for whom."""

from grader.evidence import Deadlock
from grader.judge.collectives import CollectiveMatches
from grader.judge.lower_case import name_lower_case
from grader.judge.matching import match
from grader.judge.reasons import picture, sentence
from grader.judge.stalled_run import StalledRun
from grader.judge.wait_conditions import WaitCondition, needs_of
from grader.trace.calls import Trace


def find_deadlock(
    trace: Trace, returned: frozenset[int] = frozenset(), *, makes_progress: bool = False
) -> tuple[str, Deadlock] | None:
    """Return why no rank will ever go on, as a sentence and to be drawn; None while any may.

    A rank may go on while it computes outside MPI, is in a call that waits for nobody, or waits
    for something that may still come: a message and a receive that fit by communicator, source
    and tag in MPI's order, a collective that all ranks of its communicator have entered. A send
    counts as waiting for its receive whether or not MPI might buffer it, and a collective as
    waiting for all its ranks: look only at a run that has stood still for a while. What the trace
    leaves open (a request it does not know, a rank that does not exist, calls that were lost) may
    always come, so that bad evidence never proves a hang.

    trace: all calls of every rank since the case began, in all phases.
    returned: ranks that have left the student's code and will make no MPI call any more.
    makes_progress: MPI goes on inside of those nevertheless, and serves what they have posted.
    """
    situation = _situation(trace, returned, makes_progress)
    if situation is None or situation.can_move():
        return None
    named = _situation(name_lower_case(trace), returned, makes_progress)
    told = named or situation
    return sentence(told), picture(told)


def _situation(trace: Trace, returned: frozenset[int], makes_progress: bool) -> StalledRun | None:
    """Return what every rank waits for; None where one does not wait, or nobody can tell."""
    ranks = trace.ranks
    finalised = {rank for rank, seen in enumerate(ranks) if seen.finalised}
    gone = frozenset(finalised | (returned & set(range(len(ranks)))))
    needs: dict[int, tuple[WaitCondition, ...]] = {}
    for rank, seen in enumerate(ranks):
        if seen.truncated or not seen.attached:
            return None
        if rank in gone:
            continue
        waiting = needs_of(rank, seen)
        if waiting is None:
            return None
        needs[rank] = waiting
    if not needs:
        return None
    silent = frozenset(finalised) if makes_progress else gone
    return StalledRun(trace, needs, gone, silent, match(trace), CollectiveMatches(trace))
