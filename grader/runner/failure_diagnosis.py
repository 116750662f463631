"""Why a run cannot go on, from what its ranks last said and how their processes ended."""

import signal
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.judge.crash_hints import Crash, crash_hint
from grader.judge.unfinished import unfinished
from grader.model import RunFailure
from grader.runner import answers
from grader.runner.outputs import Outputs
from grader.runner.rank_files import RankFiles
from grader.runner.sandbox import Sandbox
from grader.runner.wire import Frame
from grader.trace.calls import Trace

_TICK_S = 0.05
_LAST_WORDS_S = 1.0
_CRASHES = frozenset(
    128 + each for each in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE)
)


def wait_for_the_end(troubled: Mapping[int, Frame], sandbox: Sandbox) -> None:
    """Give the processes of ranks that fell silent a moment, so that it is known how they ended."""
    silent = [rank for rank, frame in troubled.items() if frame.kind != "problem"]
    patience_s = time.monotonic() + _LAST_WORDS_S
    while time.monotonic() < patience_s and any(sandbox.status_of(each) is None for each in silent):
        time.sleep(_TICK_S)


def crash_after_return(
    returned: Collection[int], sandbox: Sandbox, trace: Trace
) -> RunFailure | None:
    """Return the failure of a rank that crashed when it had returned, if one of these did.

    MPI goes on with what a rank has left under way, in memory that may no longer be there.
    returned: ranks that have gone since they returned. trace: all calls of the case.
    """
    for rank in sorted(returned):
        status = sandbox.status_of(rank)
        if status in _CRASHES:
            left = unfinished(trace, rank)
            return answers.failure_of_late_crash(rank, status, left)
    return None


def diagnose(
    troubled: Mapping[int, Frame],
    files: Sequence[RankFiles],
    sandbox: Sandbox,
    entry: str,
    *,
    outputs: Outputs,
    trace: Trace,
    are_apart: bool,
) -> RunFailure:
    """Return which of the ranks' troubles is the cause.

    troubled: by rank, a frame that is no answer: an exception, a lost connection, a mess. files: of
    each rank of the run. entry: the file that the submission is started by. outputs, trace: what
    the ranks have printed and called in the case that is the last. are_apart: nothing but MPI or
    torch.distributed connects them.
    """
    said = {rank: frame for rank, frame in troubled.items() if frame.kind == "problem"}
    silent = {rank: frame for rank, frame in troubled.items() if frame.kind != "problem"}
    for rank in sorted(said):
        refusal = files[rank].trace.refusal()
        if refusal and answers.is_refused(said[rank].values):
            return answers.failure_of_refusal(rank, refusal)
    # That a connection was lost only follows from what another rank did.
    causes = [rank for rank in said if not answers.is_lost_connection(said[rank].values)]
    has_crash = any(sandbox.status_of(rank) in _CRASHES for rank in silent)
    if (causes or (said and not silent)) and not has_crash:
        rank = min(causes or said)
        values = said[rank].values
        crash = replace(answers.crash_of_problem(rank, values), is_apart=are_apart)
        hint = crash_hint(crash, trace)
        return answers.failure_of_problem(rank, values, entry, hint)
    broken = {rank: frame for rank, frame in silent.items() if frame.kind != "closed"}
    if broken:
        rank = min(broken)
        return answers.failure_of_broken_frame(rank, broken[rank])
    aborting = {rank: _abort_of(files[rank]) for rank in sorted(silent)}
    for rank, where in aborting.items():
        if where:
            return answers.failure_of_abort(rank, where)
    submission = str(sandbox.submission)
    rank = first_to_end({rank: files[rank] for rank in silent}, submission)
    printed = outputs.tail(rank)
    return answers.failure_of_silence(
        rank,
        sandbox.status_of(rank),
        files[rank].place(submission),
        printed,
        crash_hint(Crash(rank, printed, is_apart=are_apart), trace),
    )


def first_to_end(silent: Mapping[int, RankFiles], submission: str) -> int:
    """Return the rank that crashed: the others were ended because of it.

    A dumped stack alone says less than a crash's own: ranks that stand still are asked for theirs.
    silent: by rank, not empty. submission: the folder of the student's files.
    """
    return min(
        silent,
        key=lambda rank: (
            not silent[rank].tells_a_crash(),
            silent[rank].place(submission) is None,
            rank,
        ),
    )


def _abort_of(files: RankFiles) -> str:
    """Return where a rank called MPI_Abort; empty if its last call was another."""
    last = files.trace.read(max(0, files.trace.snapshot().head - 1)).calls[-1:]
    return "".join(f"{Path(c.file).name}:{c.line}" for c in last if c.function == "Abort")
