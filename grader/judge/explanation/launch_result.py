"""What the facts of a launch come to: the outcome of each case, or why there is none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from grader.judge.deadlock.deadlock_report import find_deadlock
from grader.judge.deadlock.unmatched import left_behind, unfinished
from grader.judge.explanation import crash_messages as messages
from grader.judge.explanation.crash_hints import Crash, crash_hint, is_of_sizes
from grader.judge.explanation.crash_messages import MAX_REMARKS, refusal_text, remarks_of, text_of
from grader.judge.explanation.timeline import edges_of, timeline_of
from grader.judge.explanation.trace_doubts import TraceDoubts
from grader.judge.traffic.collective_calls import name_lower_case
from grader.judge.traffic.collective_differences import collective_difference
from grader.judge.values.result_forms import refuse
from grader.model.evidence import Evidence
from grader.model.finding import Finding, found, joined
from grader.model.report import Attempt, Outcome, RunFailure, Verdict
from grader.recording.launch_plan import CaseCall, LaunchPlan
from grader.recording.observation import (
    CaseObservation,
    CaseTime,
    End,
    EndKind,
    Excess,
    LaunchObservation,
    Observer,
)
from grader.trace.call_formatting import name_of
from grader.trace.calls import RankTrace, Trace, compacted_trace
from grader.trace.functions import BY_OTHER_THAN_MESSAGES

_CRASHES = frozenset({"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE"})
_SLIGHT_SLOWDOWN = 1.2
"""Below it, what a machine has held back is nothing to speak of."""
_MOST_RANKS = 4


def failure_of_end(
    observed: LaunchObservation, end: End, *, entry: str, makes_progress: bool, are_apart: bool
) -> RunFailure:
    """Return why a launch ended so, and what its ranks printed last."""
    if end.kind is EndKind.STALLED:
        failure = _of_stalled(end, makes_progress)
    elif end.kind is EndKind.EXCESS:
        assert end.excess is not None
        failure = _of_excess(end.excess, len(end.ranks))
    elif end.kind is EndKind.TIME_LIMIT:
        failure = _of_time_limit(end, makes_progress)
    else:
        failure = _of_trouble(observed, end, entry, are_apart)
    if failure.verdict is Verdict.NOT_ATTEMPTED:
        return failure
    tails = enumerate(observed.output_tails)
    said = [f"last output of rank {rank}:\n{tail}" for rank, tail in tails if tail]
    return replace(failure, detail="\n\n".join(filter(None, [failure.detail, *said])))


def _of_stalled(end: End, makes_progress: bool) -> RunFailure:
    stalled = find_deadlock(end.trace, end.returned, makes_progress=makes_progress)
    if stalled is None:
        return RunFailure(
            Verdict.JUDGE_ERROR,
            "the grader stopped the run as a deadlock, but the recorded calls do not show one; "
            "grade again",
        )
    explanation, deadlock, cause = stalled
    seen = Evidence("", len(end.ranks), deadlock=deadlock)
    places = (
        f"rank {each.rank} {each.call} {each.place} {each.waits_for}" for each in deadlock.waiting
    )
    return RunFailure(
        Verdict.DEADLOCK,
        explanation,
        findings=(cause, Finding("deadlock.waits", explanation)),
        evidence=seen,
        kind="stalled",
        place="; ".join(places),
    )


def _of_excess(excess: Excess, ranks: int) -> RunFailure:
    used, allowed = excess.used, excess.allowed
    if excess.kind == "memory":
        who = f"the {ranks} ranks together" if ranks > 1 else "the rank"
        return RunFailure.of(
            Verdict.MEMORY_LIMIT_EXCEEDED,
            found(
                "limit.memory",
                f"{who} used {used >> 20} MiB of memory; the limit is {allowed >> 20} MiB",
                used_mib=used >> 20,
                allowed_mib=allowed >> 20,
            ),
            kind=excess.kind,
            place=who,
        )
    if excess.kind == "processes":
        return RunFailure.of(
            Verdict.RUN_TIME_ERROR,
            found(
                "limit.processes",
                f"the submission had {used} processes and threads at once; the limit is {allowed}. "
                "Start fewer, or join those that have ended",
                used=used,
                allowed=allowed,
            ),
            kind=excess.kind,
        )
    who = "child processes of the ranks" if excess.rank is None else f"rank {excess.rank}"
    return RunFailure.of(
        Verdict.OUTPUT_LIMIT_EXCEEDED,
        found(
            "limit.output",
            f"{who} printed more than {allowed >> 20} MiB",
            help="remove the prints inside loops",
            allowed_mib=allowed >> 20,
        ),
        kind=excess.kind,
        place=who,
    )


def _of_time_limit(end: End, makes_progress: bool) -> RunFailure:
    """Return the failure of a case whose time is up, saying where each late rank is."""
    assert end.lasted is not None
    late = [rank for rank, each in enumerate(end.ranks) if not each.has_returned]
    verdict = Verdict.JUDGE_ERROR if end.is_starved else Verdict.TIME_LIMIT_EXCEEDED
    words = _no_answer(end.lasted, end.limit_s)
    if not late:
        return RunFailure.of(
            verdict,
            found(
                "limit.time_of_results",
                f"{words}: every rank reported that its call returned, but results are missing",
            ),
        )
    # Those that compute first: the others may wait for them.
    told = sorted(late, key=lambda rank: end.trace.ranks[rank].inside >= 0)
    places = [_where(end, rank) for rank in told[:_MOST_RANKS]]
    more = len(late) - _MOST_RANKS
    others = f"{more} more rank{'s have' if more > 1 else ' has'} not returned" if more > 0 else ""
    reason = "" if makes_progress else left_behind(end.trace, end.returned)
    machines_part = _machines_part(end.lasted, end.limit_s)
    clauses = "; ".join(filter(None, [*places, others, reason, machines_part]))
    where = "; ".join(_where(end, rank) for rank in late)
    seen = [end.ranks[rank].place for rank in told]
    finding = found(
        "limit.time",
        f"{words}: {clauses}",
        ranks=late,
        places=tuple(dict.fromkeys(f"{each[0]}:{each[1]}" for each in seen if each)),
    )
    failure = RunFailure.of(verdict, finding, kind="time limit", place=where)
    is_slow = verdict is Verdict.TIME_LIMIT_EXCEEDED
    return _led_by(collective_difference(end.trace) if is_slow else None, failure)


def _where(end: End, rank: int) -> str:
    """Return `rank 0 was still in Recv at ring.py:5`, or `computing` outside of all calls."""
    place = end.ranks[rank].place
    where = f" at {place[0]}:{place[1]}" if place else ""
    seen = end.trace.ranks[rank]
    is_current = seen.calls.column("sequence") == seen.inside
    call = next(iter(seen.calls.where(is_current)), None)
    doing = "computing" if seen.inside < 0 else f"in {name_of(call) if call else 'MPI'}"
    return f"rank {rank} was still {doing}{where}"


def _no_answer(lasted: CaseTime, limit_s: float) -> str:
    """Return `no answer after 10 s`; that is the limit, unless the case ends by the clock."""
    shown_s = round(lasted.clock_s) if lasted.is_starved(limit_s) else limit_s
    return f"stopped after {shown_s:g} s without finishing"


def _machines_part(lasted: CaseTime, limit_s: float) -> str:
    """Return a clause on what the machine held back; nothing where that was next to nothing."""
    if lasted.is_starved(limit_s):
        return (
            "the machine was busy in both attempts, so this case got only "
            f"{max(0.0, lasted.given_s):.0f} s of its {limit_s:g} s; this is not your fault"
        )
    if lasted.clock_s <= _SLIGHT_SLOWDOWN * limit_s:
        return ""
    return f"the machine was busy, so this case took {lasted.clock_s:.0f} s of real time"


def _of_trouble(observed: LaunchObservation, end: End, entry: str, are_apart: bool) -> RunFailure:
    """Return which of the ranks' troubles is the cause."""
    troubled = {rank: each for rank, each in enumerate(end.ranks) if each.said}
    for rank, each in troubled.items():
        # MPI goes on with what a rank has left under way, in memory that may no longer be there.
        if each.has_returned and each.signal in _CRASHES:
            return messages.failure_of_late_crash(rank, each, unfinished(end.trace, rank))
    said = {rank: each for rank, each in troubled.items() if each.said == "problem"}
    silent = {rank: each for rank, each in troubled.items() if each.said != "problem"}
    for rank, each in said.items():
        refusal = observed.refusals[rank] if rank < len(observed.refusals) else ""
        if refusal and messages.is_refused(each.values):
            return messages.failure_of_refusal(rank, refusal)
    # That a connection was lost only follows from what another rank did.
    causes = [r for r, each in said.items() if not messages.is_lost_connection(each.values)]
    has_crash = any(each.signal in _CRASHES for each in silent.values())
    if (causes or (said and not silent)) and not has_crash:
        rank = min(causes or said)
        values = said[rank].values
        crash = replace(messages.crash_of_problem(rank, values), is_apart=are_apart)
        differs = collective_difference(end.trace) if is_of_sizes(crash) else None
        hint = "" if differs else crash_hint(crash, end.trace)
        failure = messages.failure_of_problem(rank, values, entry, hint, python=observed.python)
        return _led_by(differs, failure)
    for rank, each in silent.items():
        if each.said != "closed":
            why = text_of(each.values, "message") if each.said == "broken" else ""
            return messages.failure_of_broken_message(rank, why)
    for rank in silent:
        if where := _abort_of(end, rank):
            return messages.failure_of_abort(rank, where)
    if not silent:
        return RunFailure(
            Verdict.JUDGE_ERROR, "the run was stopped, but the records do not say why; grade again"
        )
    # A dumped stack alone says less than a crash's own: ranks that stand still are asked to.
    rank = min(silent, key=lambda n: (not silent[n].dumped_a_crash, silent[n].place is None, n))
    printed = observed.output_tails[rank] if rank < len(observed.output_tails) else ""
    hint = crash_hint(Crash(rank, printed, is_apart=are_apart), end.trace)
    left = unfinished(end.trace, rank) if silent[rank].signal in _CRASHES else ""
    if left and not hint:
        hint = f"wait for the {left}; MPI might have used its array after Python had freed it"
    failure = messages.failure_of_silence(rank, silent[rank], printed, hint)
    return _led_by(collective_difference(end.trace), failure)


def _led_by(cause: Finding | None, failure: RunFailure) -> RunFailure:
    """Return the failure with a cause, if there is one, before what it was seen by."""
    if cause is None:
        return failure
    findings = (cause, *failure.findings)
    return replace(failure, findings=findings, message=joined(findings))


def _abort_of(end: End, rank: int) -> str:
    """Return where a rank called MPI_Abort; empty if its last call was another."""
    last = end.trace.ranks[rank].calls[-1:]
    return "".join(
        f"{call.file.rpartition('/')[2]}:{call.line}" for call in last if call.function == "Abort"
    )


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
