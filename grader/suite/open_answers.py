"""What the ranks of an open session say of a case, and what it comes to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.judge.crash_hints import crash_hint
from grader.judge.lower_case import name_lower_case
from grader.model import Outcome, RunFailure, Verdict
from grader.runner import answers
from grader.runner.launch_plan import CaseCall
from grader.runner.wire import Frame
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
    raised = {rank: each.problem for rank, each in enumerate(everyone) if each.problem is not None}
    # That a connection was lost only follows from what another rank did.
    causes = [rank for rank in raised if not answers.is_lost_connection(raised[rank])]
    if raised:
        rank = min(causes or raised)
        hint = crash_hint(answers.crash_of_problem(rank, raised[rank]), trace)
        return answers.failure_of_problem(rank, raised[rank], entry, hint)
    results = []
    for rank, (each, expected) in enumerate(zip(everyone, call.expected, strict=True)):
        assert each.frame is not None
        result, refused = answers.refuse(rank, expected, each.frame)
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
