"""One mpirun from start to end: its ranks go through the cases in lockstep."""

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from grader.model.errors import GraderError, LaunchError
from grader.observe.forkserver.descriptors import interrupt_waits
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
from grader.observe.run_control.wait_until_idle import wait_until_idle
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
    observed = _launch_until_given_enough(plan, server, uid, beat, on_silent)
    return replace(observed, wall_time_s=time.monotonic() - started_s)


def _launch_until_given_enough(
    plan: LaunchPlan,
    server: ForkserverClient,
    uid: int | None,
    beat: Beat,
    on_silent: OnSilent | None,
) -> LaunchObservation:
    observed = _launch(plan, server, uid, beat, on_silent)
    if observed.end is None or not observed.end.is_starved:
        return observed
    del observed  # with the calls that it has kept
    beat("waiting for an idle machine", _PATIENCE_S + GRACE_S)
    wait_until_idle(_PATIENCE_S)
    return _launch(plan, server, uid, beat, on_silent)


def _launch(
    plan: LaunchPlan,
    server: ForkserverClient,
    uid: int | None,
    beat: Beat,
    on_silent: OnSilent | None,
) -> LaunchObservation:
    try:
        return _launch_once(plan, server, uid, beat, on_silent)
    except LaunchError:
        pass
    try:
        return _launch_once(plan, server, uid, beat, on_silent)
    except RunLost as error:
        raise GraderError(f"a run was lost twice in a row: {error}") from None
    except LaunchError as error:
        # On a student's own machine nobody has set any limits for this.
        scarce = resource_hints.advice(resource_hints.own_allowance()) if uid is not None else ""
        # What mpirun has printed is long, and comes last.
        nothing_ran = "none of the submission's code had run"
        raise GraderError(
            f"{plan.ranks} ranks could not be started, twice in a row; "
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
