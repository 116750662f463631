"""One mpirun from start to end: its ranks go through the cases in lockstep."""

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from grader.model.errors import GraderError, LaunchError
from grader.observe.forkserver.local_sockets import interrupt_waits
from grader.observe.run_control import resource_hints
from grader.observe.run_control.connections import Connections
from grader.observe.run_control.forkserver_client import (
    END_LIMIT_S,
    READY_LIMIT_S,
    ForkserverClient,
    RunLost,
)
from grader.observe.run_control.rank_files import RankFiles
from grader.observe.run_control.running import Run, RunEnded
from grader.observe.run_control.sandbox import Sandbox
from grader.observe.run_control.watch import OnSilent
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import MAX_SLOWDOWN, CaseObservation, LaunchObservation

_PATIENCE_S = 60.0
"""How long a run that the machine gave too little waits for a better moment."""

GRACE_S = 120.0
"""What a step may take beyond its limit: the forkserver's answers, stack dumps, a busy machine."""
Beat = Callable[[str, float], None]
"""Is told what begins, and within how many seconds it will be told of the next step."""


def launch(
    plan: LaunchPlan,
    server: ForkserverClient,
    *,
    uid: int | None = None,
    beat: Beat = lambda doing, within_s: None,
    on_silent: OnSilent | None = None,
) -> LaunchObservation:
    """Start the ranks, put every case to them, end them.

    A run that ends by the clock because others had the machine is repeated when they have less.
    server: has imported what the ranks need. uid: the user the ranks run as; None for the one we
    are. beat: is told of each step that comes next; after the last, the caller has the word.
    on_silent: is called with a rank that has computed for 5 s without a call.
    Raises GraderError when the machine cannot start them twice in a row, GradingLost when nothing
    can be started here any more.
    """
    started_s = time.monotonic()
    once = partial(_launch_once, plan, server, uid, beat, on_silent)
    observed = _tried_twice(once, plan.ranks, is_limited=uid is not None)
    if observed.end is not None and observed.end.is_starved:
        del observed  # with the calls that it has kept
        beat("waiting for an idle machine", _PATIENCE_S + GRACE_S)
        wait_until_idle(_PATIENCE_S)
        observed = _tried_twice(once, plan.ranks, is_limited=uid is not None)
    return replace(observed, wall_time_s=time.monotonic() - started_s)


def _tried_twice(
    once: Callable[[], LaunchObservation], ranks: int, *, is_limited: bool
) -> LaunchObservation:
    """Launch, and once more where the machine could not. is_limited: somebody has set limits."""
    with contextlib.suppress(LaunchError):
        return once()
    try:
        return once()
    except RunLost as error:
        raise GraderError(f"a run was lost twice in a row: {error}") from None
    except LaunchError as error:
        scarce = resource_hints.advice(resource_hints.own_allowance()) if is_limited else ""
        # What mpirun has printed is long, and comes last.
        nothing_ran = "none of the submission's code had run"
        raise GraderError(
            f"{ranks} rank{'' if ranks == 1 else 's'} failed to start twice in a row; "
            f"{nothing_ran}{scarce and '; '}{scarce}: {str(error).rstrip('. ')}"
        ) from None


def _launch_once(
    plan: LaunchPlan,
    server: ForkserverClient,
    uid: int | None,
    beat: Beat,
    on_silent: OnSilent | None,
) -> LaunchObservation:
    limits = plan.limits
    case_s = MAX_SLOWDOWN * limits.case_s + GRACE_S
    beat("starting ranks", READY_LIMIT_S + limits.start_s + GRACE_S)
    with ExitStack() as stack:
        interrupt_waits()
        stack.callback(interrupt_waits, 0)
        files = [RankFiles.create() for _ in range(plan.ranks)]
        for rank_files in files:
            stack.callback(rank_files.close)
        sandbox = stack.enter_context(Sandbox(server, uid=uid, limits=plan.limits))
        sandbox.fill(submission=plan.submission, support=plan.support)
        connections = Connections(sandbox.socket_path, plan.ranks, sandbox.ranks_uid)
        stack.callback(connections.close)
        under_mpirun = plan.backend.startswith("mpi")
        # Ranks are forked from where probes are compiled: yardsticks leave nothing there.
        compiled = {} if plan.compared_with else plan.probes
        sandbox.start(plan.ranks, compiled, under_mpirun=under_mpirun)
        run = Run(plan, sandbox, connections, files, on_silent)
        cases: list[CaseObservation] = []
        end = None
        try:
            run.begin()
            until_s = time.monotonic() + plan.allowance.time_s
            for case in plan.cases:
                if time.monotonic() > until_s:
                    break
                beat("getting ready for a case", MAX_SLOWDOWN * limits.start_s + GRACE_S)
                cases.append(run.answer(case, lambda: beat("a case", case_s)))
        except RunEnded as ended:
            end = ended.end
        beat("ending a run", END_LIMIT_S + GRACE_S)
        return LaunchObservation(
            tuple(cases),
            end,
            output_tails=tuple(run.outputs.tail(rank) for rank in range(plan.ranks)),
            refusals=run.refusals(),
            python=sys.version_info[:2],
        )


_LOOK_S = 0.5
_QUIET_SHARE = 0.5
_IDLE = 3
_NUM_STATES = 8
"""What /proc/stat tells after these is part of them."""


def wait_until_idle(limit_s: float) -> None:
    """Wait until half of the machine is idle, or for limit_s; not if that cannot be known."""
    until_s = time.monotonic() + limit_s
    before = _ticks()
    while before and time.monotonic() < until_s:
        time.sleep(_LOOK_S)
        after = _ticks()
        if idle_share(before, after) >= _QUIET_SHARE:
            return
        before = after


def idle_share(before: Sequence[int], after: Sequence[int]) -> float:
    """Return how much of the time between two looks all cores together had nothing to do.

    before, after: what /proc/stat counts for them, in its order: user, nice, system, idle, ...
    """
    passed = [late - early for early, late in zip(before, after, strict=False)]
    return passed[_IDLE] / sum(passed) if sum(passed) > 0 else 1.0


def _ticks() -> list[int]:
    try:
        line = Path("/proc/stat").read_text().splitlines()[0]
    except OSError:
        return []
    return [int(number) for number in line.split()[1 : 1 + _NUM_STATES]]
