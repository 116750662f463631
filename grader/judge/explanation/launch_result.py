"""What the facts of a launch come to: the outcome of each case, or why there is none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from grader.judge.explanation.crash_messages import MAX_REMARKS, refusal_text, remarks_of
from grader.judge.explanation.launch_end import failure_of_end
from grader.judge.explanation.timeline import edges_of, timeline_of
from grader.judge.explanation.trace_doubts import TraceDoubts
from grader.judge.traffic.collective_calls import name_lower_case
from grader.judge.values.result_forms import refuse
from grader.model.evidence import Evidence
from grader.model.finding import Finding, found
from grader.model.report import Attempt, Outcome, RunFailure, Verdict
from grader.recording.launch_plan import CaseCall, LaunchPlan
from grader.recording.observation import CaseObservation, End, LaunchObservation, Observer
from grader.trace.calls import RankTrace, Trace, compacted_trace
from grader.trace.functions import BY_OTHER_THAN_MESSAGES


@dataclass(frozen=True)
class LaunchResult:
    """What came of a launch: the outcomes of the cases that were answered, in order."""

    outcomes: tuple[Outcome | RunFailure, ...]
    """A RunFailure in here is the case's alone: an answer of the wrong form, or too many calls."""
    failure: RunFailure | None
    """Why the launch ended early; the cases after the outcomes have no answer."""
    wall_time_s: float = 0.0
    """From its start to its end, also of one that was repeated."""
    refusals: Sequence[str] = ()
    """What the guard refused to ranks, a sentence for each of them, whatever came of it."""
    is_out_of_time: bool = False
    """It ended between two cases, because it had had its time."""
    remarks: Sequence[Finding] = ()
    """On lines of the submission that cost nothing."""
    unfinished: Attempt | None = None
    """What the ranks did in the case that ended it."""
    refused: Mapping[int, Attempt] = field(default_factory=dict)
    """What the ranks did in each case of `outcomes` that has a RunFailure there, by index."""

    @property
    def trace_num_bytes(self) -> int:
        """Return what the calls of its cases take of the memory that a part has for them."""
        failed = (*self.refused.values(), *([self.unfinished] if self.unfinished else ()))
        kept = (*failed, *(each for each in self.outcomes if isinstance(each, Outcome)))
        return sum(each.trace.num_bytes for each in kept)


def explaining(observe: Observer) -> Callable[[LaunchPlan], LaunchResult]:
    """Return what puts a plan to an observer and explains what that has seen."""
    return lambda plan: explain(plan, observe(plan))


def explain(plan: LaunchPlan, observed: LaunchObservation) -> LaunchResult:
    """Return what came of a launch of this plan. Raises GraderError where MPI has never counted."""
    doubts, calls = TraceDoubts(plan), StudentCalls(plan)
    pairs = list(zip(plan.cases, observed.cases, strict=False))
    traces = [_judged(case, seen, doubts, calls) for case, seen in pairs]
    outcomes = tuple(
        _outcome(plan, case, seen, trace) for (case, seen), trace in zip(pairs, traces, strict=True)
    )
    failure = None if observed.end is None else _failure(plan, observed, observed.end)
    return LaunchResult(
        outcomes,
        failure,
        wall_time_s=observed.wall_time_s,
        refusals=tuple(
            refusal_text(rank, refusal) for rank, refusal in enumerate(observed.refusals) if refusal
        ),
        is_out_of_time=observed.end is None and len(observed.cases) < len(plan.cases),
        remarks=_remarks(plan, observed),
        unfinished=_unfinished(plan, observed, failure),
        refused={
            index: Attempt(plan.ranks, plan.cases[index].inputs, traces[index], each)
            for index, each in enumerate(outcomes)
            if isinstance(each, RunFailure)
        },
    )


def _unfinished(
    plan: LaunchPlan, observed: LaunchObservation, failure: RunFailure | None
) -> Attempt | None:
    """Return what the ranks did in the case that ended the launch, if one had begun."""
    end = observed.end
    if end is None or end.began_ns is None:
        return None
    case = plan.cases[len(observed.cases)]
    trace = compacted_trace(student_trace(plan, end.trace))
    return Attempt(plan.ranks, case.inputs, trace, failure)


class StudentCalls:
    """Looks at the cases of one launch, one after the other."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._phases = plan.student_phases
        self._is_mpi = plan.is_mpi
        self._has_called: set[int] = set()
        """Ranks that the student's code has called MPI in."""

    def of(self, trace: Trace, *, all_count: bool = False) -> Trace:
        """Return the calls of a case that rules are about; all_count: of torch, those are all."""
        if not self._is_mpi:
            return trace if all_count else trace.of_phases(self._phases)
        return replace(trace, ranks=tuple(map(self._of_rank, trace.ranks)))

    def _of_rank(self, seen: RankTrace) -> RankTrace:
        """Return one rank's calls of the student's phases.

        With them whatever moves data by other means than messages, once the student's code has
        called anything: ours does not, nobody judges a yardstick, and what ours calls may have been
        replaced. Before, files are imported.
        Where calls were lost no rule can be judged: no others than those are kept then.
        """
        calls = seen.calls
        is_counted = np.isin(calls.column("phase"), self._phases)
        has_called = np.logical_or.accumulate(is_counted) | (seen.rank in self._has_called)
        # Where calls are lost, nobody knows whether the student's code has made some.
        if is_counted.any() or seen.truncated:
            self._has_called.add(seen.rank)
        is_judged = has_called & calls.function_is(BY_OTHER_THAN_MESSAGES.__contains__)
        if not seen.truncated:
            is_judged |= is_counted
        return replace(seen, calls=calls.where(is_judged))


def _judged(
    case: CaseCall, seen: CaseObservation, doubts: TraceDoubts, calls: StudentCalls
) -> Trace:
    """Return the calls that the student's code made in a case, with what they contradict."""
    found = doubts.of(seen)
    judged = calls.of(seen.trace, all_count=case.all_calls_count)
    texts, ranks = (each.text for each in found), {rank for each in found for rank in each.ranks}
    judged = replace(judged, doubts=tuple(texts), doubtful_ranks=tuple(sorted(ranks)))
    return compacted_trace(name_lower_case(judged))


def _outcome(
    plan: LaunchPlan, case: CaseCall, seen: CaseObservation, trace: Trace
) -> Outcome | RunFailure:
    results = []
    for rank, expected in enumerate(case.expected):
        answer = seen.ranks[rank]
        result, problem = refuse(rank, expected, answer.values, answer.arrays)
        if problem:
            told = Finding("value.form", problem, {"rank": rank})
            return RunFailure.of(Verdict.WRONG_ANSWER, told)
        results.append(result)
    if seen.num_calls_not_kept:
        return _failure_of_many_calls(seen.num_calls_not_kept)
    return Outcome(
        label=case.label,
        ranks=plan.ranks,
        inputs=case.inputs,
        results=tuple(results),
        trace=trace,
        wall_time_s=seen.lasted.clock_s,
        given_time_s=seen.lasted.compared_s,
        num_altered=seen.num_altered,
        num_processes=None if seen.said_by_process is None else len(seen.said_by_process),
        said_by_process=seen.said_by_process,
        num_processes_at_once=seen.num_processes_at_once,
        gloo_samples=tuple(
            rank.sent_by_gloo.samples if rank.sent_by_gloo else None for rank in seen.ranks
        ),
    )


def _failure_of_many_calls(num_calls: Sequence[int]) -> RunFailure:
    """Return why a case has no outcome whose calls are more than may be kept."""
    rank = num_calls.index(max(num_calls))
    return RunFailure.of(
        Verdict.NOT_PROVEN,
        found(
            "evidence.too_many_calls",
            f"rank {rank} made at least {num_calls[rank]:,} communication calls here; "
            "together with earlier calls, they exceed the grader's limit for a part",
            help="your instructor reviews this part",
            rank=rank,
            num_calls=num_calls[rank],
        ),
    )


def _remarks(plan: LaunchPlan, observed: LaunchObservation) -> tuple[Finding, ...]:
    remarks: dict[str, Finding] = {}
    for seen in observed.cases:
        for rank in seen.ranks:
            told = remarks_of(rank.values, plan.submission)
            remarks |= {each.text: each for each in told[: MAX_REMARKS - len(remarks)]}
    return tuple(remarks.values())


def _failure(plan: LaunchPlan, observed: LaunchObservation, end: End) -> RunFailure:
    """Return why a launch ended, with who sent what to whom, and when, in its last case."""
    failure = failure_of_end(
        observed,
        end,
        entry=plan.entry,
        makes_progress=plan.makes_progress,
        are_apart=plan.are_apart,
    )
    if end.began_ns is None:
        return failure
    trace = student_trace(plan, end.trace)
    evidence = failure.evidence or Evidence("", len(trace.ranks))
    evidence = replace(evidence, edges=edges_of(trace), timeline=timeline_of(trace))
    return replace(failure, evidence=evidence)


def student_trace(plan: LaunchPlan, trace: Trace) -> Trace:
    """Return the calls of the student's phases, by the names that a program calls them by."""
    return name_lower_case(trace.of_phases(plan.student_phases))
