"""What the ranks of an open session say of a case, and what it comes to."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.judge.explanation.launch_result import failure_of_end
from grader.judge.traffic.collective_calls import name_lower_case
from grader.judge.values.result_forms import refuse
from grader.model.report import Outcome, RunFailure, Verdict
from grader.observe.run_control.rank_messages import Frame
from grader.recording.launch_plan import CaseCall
from grader.recording.observation import End, EndKind, LaunchObservation, RankEnd
from grader.trace.calls import RankTrace, Trace


@dataclass(frozen=True)
class Said:
    """What one rank has to say about a case."""

    frame: Frame | None
    """Its results; None where it has raised."""
    problem: Mapping[str, Any] | None
    trace: RankTrace
    wall_time_s: float
    printed: str


def combined(everyone: Sequence[Said], call: CaseCall, entry: str) -> Outcome | RunFailure:
    """Return the outcome of a case, or why there is none: as a grading would tell it.

    entry: the call that the part asks for.
    """
    trace = Trace(tuple(each.trace for each in everyone))
    raised = [each.problem is not None for each in everyone]
    if any(raised):
        ranks = (
            RankEnd() if each.problem is None else RankEnd(said="problem", values=each.problem)
            for each in everyone
        )
        end = End(EndKind.TROUBLE, tuple(ranks), trace)
        return explain_open(end, entry=entry)
    results = []
    for rank, (each, expected) in enumerate(zip(everyone, call.expected, strict=True)):
        assert each.frame is not None
        result, refused = refuse(rank, expected, each.frame.values, each.frame.arrays)
        if refused:
            return RunFailure(Verdict.WRONG_ANSWER, refused)
        results.append(result)
    wall_time_s = max(each.wall_time_s for each in everyone)
    return Outcome(
        label=call.label,
        ranks=len(everyone),
        inputs=call.inputs,
        results=tuple(results),
        trace=name_lower_case(trace),
        wall_time_s=wall_time_s,
        given_time_s=wall_time_s,
    )


def explain_open(end: End, *, entry: str, output_tails: Sequence[str] = ()) -> RunFailure:
    """Return why a session ended, in which files and sockets of other ranks can be reached."""
    observed = LaunchObservation((), end, output_tails=output_tails, python=sys.version_info[:2])
    return failure_of_end(observed, end, entry=entry, makes_progress=True, are_apart=False)
