"""Why a launch ended early: the verdict, and the sentence that names the cause."""

from dataclasses import replace

from grader.judge.deadlock.deadlock_report import find_deadlock
from grader.judge.deadlock.unmatched import left_behind, unfinished
from grader.judge.explanation import crash_messages as messages
from grader.judge.explanation.crash_hints import Crash, crash_hint, is_of_sizes
from grader.judge.explanation.crash_messages import text_of
from grader.judge.traffic.collective_differences import collective_difference
from grader.model.evidence import Evidence
from grader.model.finding import Finding, found, joined
from grader.model.report import RunFailure, Verdict
from grader.recording.observation import CaseTime, End, EndKind, Excess, LaunchObservation
from grader.trace.call_formatting import name_of

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
