"""One mpirun from start to end: its ranks go through the cases in lockstep."""

from contextlib import ExitStack
from dataclasses import replace

from grader.errors import GraderError, LaunchError
from grader.evidence import Evidence
from grader.judge.timeline import edges_of, timeline_of
from grader.model import Outcome, RunFailure, Verdict
from grader.runner.connections import Connections
from grader.runner.fork_server import ForkServer, RunLost
from grader.runner.launch_plan import LaunchPlan, LaunchResult
from grader.runner.quiet import wait_until_quiet
from grader.runner.rank_files import RankFiles
from grader.runner.running import Run, RunEnded
from grader.runner.sandbox import Sandbox
from grader.zygote.descriptors import interrupt_waits

_PATIENCE_S = 60.0
"""How long a run that the machine gave too little waits for a better moment."""


def launch(plan: LaunchPlan, server: ForkServer, *, uid: int | None = None) -> LaunchResult:
    """Start the ranks, put every case to them, end them.

    A run that ends by the clock because others had the machine is repeated when they have less.
    Where that ends so as well, nothing is known of the submission: the failure is the grader's.
    server: has imported what the ranks need. uid: the user the ranks run as; None for the one we
    are. Raises GraderError when the machine cannot start them twice in a row, RanksGone when
    nothing can be started any more.
    """
    launched = _launch(plan, server, uid)
    if not launched.is_starved:
        return launched
    del launched  # with the calls that it has kept
    wait_until_quiet(_PATIENCE_S)
    launched = _launch(plan, server, uid)
    if not launched.is_starved or launched.failure is None:
        return launched
    return replace(launched, failure=replace(launched.failure, verdict=Verdict.JUDGE_ERROR))


def _launch(plan: LaunchPlan, server: ForkServer, uid: int | None) -> LaunchResult:
    try:
        return _launch_once(plan, server, uid)
    except LaunchError:
        pass
    try:
        return _launch_once(plan, server, uid)
    except RunLost as error:
        server.require_host()
        raise GraderError(f"a run was lost twice in a row: {error}") from None
    except LaunchError as error:
        server.require_host()
        raise GraderError(
            f"{plan.ranks} ranks could not be started, twice in a row: {error}; "
            "this is the machine's fault, not the submission's"
        ) from None


def _launch_once(plan: LaunchPlan, server: ForkServer, uid: int | None) -> LaunchResult:
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
        sandbox.start(plan.ranks, under_mpirun=plan.backend.startswith("mpi"))
        run = Run(plan, sandbox, connections, files)
        outcomes: list[Outcome | RunFailure] = []
        failure, is_starved = None, False
        try:
            run.begin()
            for case in plan.cases:
                outcomes.append(run.answer(case))
        except RunEnded as ended:
            failure = run.outputs.with_last_words(ended.failure)
            is_starved = ended.is_starved
            if (last := run.traces.unfinished()) is not None:
                seen = failure.evidence or Evidence("", plan.ranks)
                trace = last.trace
                seen = replace(seen, edges=edges_of(trace), timeline=timeline_of(trace))
                failure = replace(failure, evidence=seen)
            run.traces.end()
        tails = tuple(run.outputs.tail(rank) for rank in range(plan.ranks))
        refusals, traces = run.refusals(), run.traces.kept
        return LaunchResult(tuple(outcomes), failure, tails, refusals, is_starved, traces)
