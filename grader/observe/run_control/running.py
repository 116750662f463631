"""The judge's side of one run: puts case after case to its ranks, until the last or a failure."""

import contextlib
import signal
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.model.errors import GraderError, LaunchError
from grader.observe.run_control.connections import Connections
from grader.observe.run_control.machine import free_port
from grader.observe.run_control.outputs import Outputs
from grader.observe.run_control.rank_files import RankFiles
from grader.observe.run_control.rank_messages import Frame, most_num_bytes
from grader.observe.run_control.sandbox import Sandbox, work_folders
from grader.observe.run_control.watch import OnSilent, Watch
from grader.recording.launch_plan import CaseCall, LaunchPlan
from grader.recording.observation import CaseObservation, CaseTime, End, EndKind, RankCase
from grader.trace import layout
from grader.trace.calls import Calls, Counted, Trace, compacted_trace
from grader.trace.sent_by_gloo import SentByGloo

_TICK_S = 0.05
_LONGEST_TICK_S = 0.25
_TICK_SHARE = 0.01
"""Of what a case has lasted, up to the longest: a look costs the judge, a case may take minutes."""
_SETTLE_S = 2.0
"""How long the other ranks may take to show what they know after one has failed."""
_SETTLED_S = 0.3
_LAST_WORDS_S = 1.0
_FIRST_OF_SIGNALS = 128


@dataclass(frozen=True)
class Counters:
    """What MPI, gloo and the kernel have counted beside calls; by rank, but for the last."""

    at_ns: int
    """On the clock of the calls."""
    by_mpi: Sequence[Counted | None]
    """None where MPI does not count."""
    nested: Sequence[int]
    """Calls inside of functions that MPI had called."""
    beside_calls: Sequence[int]
    """Messages that MPI has sent for itself, in none of the calls."""
    by_gloo: Sequence[SentByGloo | None]
    carried_num_bytes: int | None
    """By the kernel between all ranks; None where it is not asked."""


def read_counters(
    files: Sequence[RankFiles],
    carried_num_bytes: Callable[[], int | None],
    *,
    phases: Sequence[int],
    is_mpi: bool,
) -> Counters:
    """Return what has been counted so far.

    carried_num_bytes: asks the kernel. phases: those of the student's calls, whose messages count.
    """
    return Counters(
        time.monotonic_ns(),
        [_counted(each, phases) if is_mpi else None for each in files],
        [each.trace.num_nested() for each in files],
        [each.trace.num_beside_calls() for each in files],
        [None if is_mpi or each.gloo is None else each.gloo.sent() for each in files],
        carried_num_bytes(),
    )


def _counted(files: RankFiles, phases: Sequence[int]) -> Counted | None:
    counted = files.trace.counted(phases)
    # A standalone program initialises MPI within the case: before, it counted nothing.
    is_up = counted is not None or files.trace.snapshot().initialised
    return counted if is_up else Counted((), ())


class RunEnded(Exception):
    """The run is over before its last case was answered."""

    def __init__(self, end: End) -> None:
        super().__init__(end.kind)
        self.end = end


class Run:
    """The judge's side of one run."""

    def __init__(
        self,
        plan: LaunchPlan,
        sandbox: Sandbox,
        connections: Connections,
        files: list[RankFiles],
        on_silent: OnSilent | None,
    ) -> None:
        self._plan = plan
        self._on_silent = on_silent
        self._sandbox = sandbox
        self._server = sandbox.server
        self._connections = connections
        self._files = files
        self.outputs = Outputs(files, sandbox.folder)
        self._student_has_run = False
        self._began_ns: int | None = None
        """When the case in progress began; None between two cases."""
        self._trace_num_bytes_left = plan.allowance.trace_num_bytes

    def begin(self) -> None:
        """Meet every rank and tell it what it needs.

        Raises LaunchError when one does not come.
        """
        plan = self._plan
        deadline_s = time.monotonic() + plan.limits.start_s
        try:
            self._connections.accept_all(deadline_s, lambda: self._server.ended() is None)
        except LaunchError as error:
            raise LaunchError(f"{error}. {self._server.log()}".strip()) from None
        submission = self._sandbox.submission
        setup = {
            "probes": plan.probes,
            "ranks": plan.ranks,
            "backend": plan.backend,
            "standalone": plan.standalone,
            "guarded": plan.guarded,
            "confined": plan.confined,
            "windows": plan.windows,
            "layout": layout.described(),
            "port": free_port(),
            "submission": str(submission),
            "folders": work_folders(plan.submission, plan.folders),
            "support": str(self._sandbox.folder / "support"),
        }
        for rank, rank_files in enumerate(self._files):
            self._connections.pass_descriptors(rank, rank_files.descriptors)
            self._connections.send(rank, "setup", setup)
        self._watch = Watch(
            self._files,
            self._server,
            submission,
            plan.limits,
            makes_progress=plan.makes_progress,
            on_silent=self._on_silent,
        )

    def answer(
        self, case: CaseCall, on_begun: Callable[[], None] = lambda: None
    ) -> CaseObservation:
        """Put one case to all ranks; return what they answer.

        on_begun: is called when all ranks are ready and the time of the case begins.
        Raises RunEnded when they do not answer.
        """
        for rank in range(self._plan.ranks):
            self._connections.send(rank, "case", {"probe": case.probe})
        self._collect("ready")
        if not self._student_has_run:
            self._check_interposer()
        for rank_files in self._files:
            rank_files.trace.set_synchronous_sends(case.synchronous_sends)
            rank_files.trace.alter_nothing()
            if rank_files.gloo is not None:
                rank_files.gloo.drop_samples()
        altered = case.message_fault
        if altered is not None:
            self._files[altered.rank].trace.alter(altered)
        before = self._counters()
        self._watch.begin_case(tells_of_silent=not case.is_timed)
        self.outputs.begin_case()
        on_begun()
        delay_before_s = self._server.run_queue_delay_s(up_to_now=True) if case.is_timed else 0.0
        started_s = time.monotonic()
        self._began_ns = before.at_ns
        self._student_has_run = True
        for rank, inputs in enumerate(case.inputs):
            arrays = {k: v for k, v in inputs.items() if isinstance(v, np.ndarray)}
            values = {k: v for k, v in inputs.items() if k not in arrays}
            self._connections.expect(rank, most_num_bytes(case.expected[rank]))
            # Not before the clock runs: what a rank has, it can begin to work on.
            self._connections.send(rank, "go", {"values": values}, arrays)
        frames, finished_s = self._collect("result")
        self._watch.end_case()
        delay_after_s = self._server.run_queue_delay_s(up_to_now=True) if case.is_timed else 0.0
        lasted = CaseTime(finished_s - started_s, delay_after_s - delay_before_s)
        # Only ranks that are nothing but processes of one machine are asked to start more of them.
        is_alone = self._plan.backend == "none"
        census = self._server.census() if is_alone else {}
        trace = self._watch.trace()
        after = self._counters()
        self._began_ns = None
        not_kept: tuple[int, ...] = ()
        num_bytes = trace.of_phases(self._plan.student_phases).num_bytes
        if num_bytes > self._trace_num_bytes_left:
            not_kept = tuple(len(seen.calls) for seen in trace.ranks)
            trace, num_bytes = _without_calls(trace), 0
        self._trace_num_bytes_left -= num_bytes
        return CaseObservation(
            ranks=self._ranks(compacted_trace(trace), frames, before, after),
            began_ns=before.at_ns,
            read_ns=after.at_ns,
            lasted=lasted,
            num_calls_not_kept=not_kept,
            carried_num_bytes=_difference(before.carried_num_bytes, after.carried_num_bytes),
            num_altered=self._files[altered.rank].trace.num_altered() if altered else 0,
            said_by_process=tuple(map(tuple, census["said"])) if census else None,
            num_processes_at_once=census.get("at_once"),
        )

    def _ranks(
        self, trace: Trace, frames: Mapping[int, Frame], before: Counters, after: Counters
    ) -> tuple[RankCase, ...]:
        """Return what each rank did in a case, of which these are the calls and answers."""
        found = []
        for rank, seen in enumerate(trace.ranks):
            sent, sent_before = after.by_gloo[rank], before.by_gloo[rank]
            found.append(
                RankCase(
                    values=self.outputs.values_without_our_paths(frames[rank].values),
                    arrays=frames[rank].arrays,
                    trace=seen,
                    counted_before=before.by_mpi[rank],
                    counted_after=after.by_mpi[rank],
                    num_nested=after.nested[rank] - before.nested[rank],
                    num_beside_calls=after.beside_calls[rank] - before.beside_calls[rank],
                    sent_by_gloo=sent.since(sent_before) if sent and sent_before else None,
                )
            )
        return tuple(found)

    def _counters(self) -> Counters:
        return read_counters(
            self._files,
            self._server.carried_num_bytes,
            phases=self._plan.student_phases,
            is_mpi=self._plan.is_mpi,
        )

    def _check_interposer(self) -> None:
        """Refuse to grade when a preload failed: it does so silently."""
        if self._plan.standalone or self._plan.backend == "none":
            return
        for rank, rank_files in enumerate(self._files):
            if not rank_files.trace.snapshot().attached:
                raise GraderError(
                    f"the interposer is not active in rank {rank}, so it would record no call"
                )

    def _collect(self, kind: str) -> tuple[dict[int, Frame], float]:
        """Wait for one frame of `kind` from each rank; return them and when the last arrived."""
        answers_by_rank: dict[int, Frame] = {}
        returned: set[int] = set()
        troubled: dict[int, Frame] = {}
        finished_s = started_s = time.monotonic()
        delay_before_s = self._server.run_queue_delay_s()
        settle_until_s = 0.0
        limits = self._plan.limits
        # To get ready is our own work, which a busy machine may delay.
        limit_s = limits.case_s if kind == "result" else limits.start_s
        while len(answers_by_rank) < self._plan.ranks:
            lasted_s = 0.0 if troubled else time.monotonic() - started_s
            for rank, frame in self._connections.poll(_tick_s(lasted_s)):
                # Our harness says once that the call is over, and always before it sends a result.
                # The time is the result's: when to say so, a rank could choose.
                if frame.kind == "finished" and kind == "result" and rank not in returned:
                    returned.add(rank)
                elif (
                    frame.kind == kind
                    and rank not in answers_by_rank
                    and (kind != "result" or rank in returned)
                ):
                    answers_by_rank[rank] = frame
                    finished_s = time.monotonic()
                elif rank not in troubled:
                    troubled[rank] = frame
                    settle_until_s = settle_until_s or time.monotonic() + _SETTLE_S
            now_s = time.monotonic()
            gone = frozenset(returned | set(answers_by_rank) | set(troubled))
            if troubled:
                settled = len(gone) == self._plan.ranks or self._watch.still_s(gone) > _SETTLED_S
                if settled or now_s > settle_until_s:
                    raise RunEnded(self._begun(self._end_of(troubled, returned)))
                continue
            end = self._watch.look(gone)
            lasted = CaseTime(now_s - started_s, self._server.run_queue_delay_s() - delay_before_s)
            if lasted.is_up(limit_s):
                run_queue_delay_s = self._server.run_queue_delay_s(up_to_now=True) - delay_before_s
                lasted = CaseTime(now_s - started_s, run_queue_delay_s)
            if end is None and lasted.is_up(limit_s):
                end = self._watch.out_of_time(gone, lasted, limit_s)
            if end is not None and not self._student_has_run:
                what = f", {end.excess.kind}" if end.excess is not None else ""
                raise LaunchError(f"the ranks did not become ready: {end.kind}{what}")
            if end is not None:
                raise RunEnded(self._begun(end))
        return answers_by_rank, finished_s

    def _begun(self, end: End) -> End:
        return replace(end, began_ns=self._began_ns)

    def _end_of(self, troubled: Mapping[int, Frame], returned: Collection[int]) -> End:
        """Return how the run ended, of which some ranks said something else than an answer.

        returned: ranks that have left the student's call. Raises LaunchError where the student's
        code has not run yet.
        """
        if not self._student_has_run:
            rank = min(troubled)
            printed = f"{self.outputs.tail(rank)}\n{self._server.log()}".strip()
            raise LaunchError(f"rank {rank} ended while starting. {printed}")
        self._wait_for_the_end(troubled)
        excess = self._watch.excess()
        if excess is not None:
            return self._watch.end(EndKind.EXCESS, returned, excess=excess)
        end = self._watch.end(EndKind.TROUBLE, returned)
        ranks = list(end.ranks)
        submission = str(self._sandbox.submission)
        for rank, frame in troubled.items():
            status = self._server.status_of(rank)
            ranks[rank] = replace(
                ranks[rank],
                said=frame.kind,
                values=self.outputs.values_without_our_paths(frame.values),
                exit_status=status,
                signal=_signal_of(status),
                place=self._files[rank].place(submission),
                dumped_a_crash=self._files[rank].tells_a_crash(),
            )
        return replace(end, ranks=tuple(ranks))

    def _wait_for_the_end(self, troubled: Mapping[int, Frame]) -> None:
        """Give ranks that fell silent a moment, so that it is known how their processes ended."""
        silent = [rank for rank, frame in troubled.items() if frame.kind != "problem"]
        until_s = time.monotonic() + _LAST_WORDS_S
        while time.monotonic() < until_s and any(
            self._server.status_of(rank) is None for rank in silent
        ):
            time.sleep(_TICK_S)

    def refusals(self) -> tuple[str, ...]:
        """Return what was refused first to each rank, whatever came of it; else nothing."""
        return tuple(rank_files.trace.refusal() for rank_files in self._files)


def _signal_of(exit_status: int | None) -> str:
    """Return the name of the signal that an exit status stands for; empty for none."""
    if exit_status is None or exit_status <= _FIRST_OF_SIGNALS:
        return ""
    with contextlib.suppress(ValueError):
        return signal.Signals(exit_status - _FIRST_OF_SIGNALS).name
    return ""


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _without_calls(trace: Trace) -> Trace:
    """Return a trace whose calls are lost."""
    ranks = (replace(seen, calls=Calls.of(()), truncated=True) for seen in trace.ranks)
    return replace(trace, ranks=tuple(ranks))


def _tick_s(lasted_s: float) -> float:
    """Return for how long to wait for an answer before the ranks are looked at again."""
    return min(max(_TICK_S, lasted_s * _TICK_SHARE), _LONGEST_TICK_S)
