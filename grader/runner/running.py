"""The judge's side of one run: puts case after case to its ranks, until the last or a failure."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from grader.errors import GraderError, LaunchError
from grader.judge.counting import num_bytes_kept
from grader.judge.lower_case import name_lower_case
from grader.model import Outcome, RunFailure, Verdict
from grader.runner import answers, slips
from grader.runner.case_time import CaseTime
from grader.runner.case_traces import CaseTraces
from grader.runner.connections import Connections
from grader.runner.cross_check import CrossCheck
from grader.runner.failure_diagnosis import crash_after_return, diagnose, wait_for_the_end
from grader.runner.launch_plan import CaseCall, LaunchPlan, work_folders
from grader.runner.machine import free_port
from grader.runner.outputs import Outputs
from grader.runner.rank_files import RankFiles
from grader.runner.sandbox import Sandbox
from grader.runner.student_calls import StudentCalls
from grader.runner.watch import Watch
from grader.runner.wire import Frame
from grader.trace import layout
from grader.trace.calls import compacted_trace

_TICK_S = 0.05
_LONGEST_TICK_S = 0.25
_TICK_SHARE = 0.01
"""Of what a case has lasted, up to the longest: a look costs the judge, a case may take minutes."""
_SETTLE_S = 2.0
"""How long the other ranks may take to show what they know after one has failed."""
_SETTLED_S = 0.3


class RunEnded(Exception):
    """The run is over before its last case was answered."""

    def __init__(self, failure: RunFailure, *, is_starved: bool = False) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.is_starved = is_starved


class Run:
    """The judge's side of one run."""

    def __init__(
        self, plan: LaunchPlan, sandbox: Sandbox, connections: Connections, files: list[RankFiles]
    ) -> None:
        self._plan = plan
        self._sandbox = sandbox
        self._connections = connections
        self._files = files
        self.outputs = Outputs(files, sandbox.folder)
        self.remarks: dict[str, None] = {}
        """On lines of the submission, in sentences."""
        self._student_has_run = False
        self._trace_num_bytes_left = plan.allowance.trace_num_bytes
        self._is_mpi = plan.backend.startswith("mpi")
        self._student_calls = StudentCalls(standalone=plan.standalone, is_mpi=self._is_mpi)

    def begin(self) -> None:
        """Meet every rank and tell it what it needs.

        Raises LaunchError when one does not come.
        """
        plan = self._plan
        deadline_s = time.monotonic() + plan.limits.start_s
        try:
            self._connections.accept_all(deadline_s, lambda: self._sandbox.ended() is None)
        except LaunchError as error:
            raise LaunchError(f"{error}. {self._sandbox.log()}".strip()) from None
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
            self._sandbox,
            plan.limits,
            # But in a program that begins and ends MPI itself: see the backends of a rank.
            makes_progress=not (self._is_mpi and plan.standalone),
        )
        phases = self._student_calls.phases
        self._cross_check = CrossCheck(
            self._files,
            self._sandbox.carried_num_bytes,
            phases=phases,
            is_mpi=self._is_mpi,
            starts_mpi=plan.standalone,
        )
        allowance = plan.allowance
        most = allowance.trace_num_bytes if allowance.keeps_traces else 0
        self.traces = CaseTraces(self._watch.trace, phases, most_num_bytes=most)

    def answer(
        self, case: CaseCall, on_begun: Callable[[], None] = lambda: None
    ) -> Outcome | RunFailure:
        """Put one case to all ranks; return what they answer, or why the answer is refused.

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
        altered = case.message_fault
        if altered is not None:
            self._files[altered.rank].trace.alter_sends(
                altered.number,
                min_num_bytes=altered.min_num_bytes,
                position=altered.position,
                of_collectives=altered.of_collectives,
                operations=altered.operations,
            )
        self._cross_check.begin_case()
        self._watch.begin_case()
        self.outputs.begin_case()
        on_begun()
        denied_before_s = self._sandbox.denied_s(up_to_now=True) if case.is_timed else 0.0
        started_s = time.monotonic()
        self.traces.begin()
        self._student_has_run = True
        for rank, inputs in enumerate(case.inputs):
            arrays = {k: v for k, v in inputs.items() if isinstance(v, np.ndarray)}
            values = {k: v for k, v in inputs.items() if k not in arrays}
            self._connections.expect(rank, answers.most_num_bytes(case.expected[rank]))
            # Not before the clock runs: what a rank has, it can begin to work on.
            self._connections.send(rank, "go", {"values": values}, arrays)
        frames, finished_s = self._collect("result")
        denied_after_s = self._sandbox.denied_s(up_to_now=True) if case.is_timed else 0.0
        lasted = CaseTime(finished_s - started_s, denied_after_s - denied_before_s)
        # Only ranks that are nothing but processes of one machine are asked to start more of them.
        is_alone = self._plan.backend == "none"
        census = self._sandbox.census() if is_alone else {}
        self.traces.end()
        trace = self._watch.trace()
        doubts = self._cross_check.doubts(trace)
        results = []
        for rank, expected in enumerate(case.expected):
            result, problem = answers.refuse(rank, expected, frames[rank])
            if problem:
                told = self.outputs.without_our_paths(problem)
                return RunFailure(Verdict.WRONG_ANSWER, told)
            results.append(result)
            remarks = slips.remarks_of(frames[rank], self._plan.submission)
            room = slips.MAX_REMARKS - len(self.remarks)
            self.remarks.update(dict.fromkeys(remarks[:room]))
        student_calls = self._student_calls.of(trace, all_count=case.all_calls_count)
        judged = compacted_trace(name_lower_case(replace(student_calls, doubts=doubts)))
        num_bytes = num_bytes_kept(judged)
        if num_bytes > self._trace_num_bytes_left:
            return answers.failure_of_many_calls(judged)
        self._trace_num_bytes_left -= num_bytes
        return Outcome(
            label=case.label,
            ranks=self._plan.ranks,
            inputs=case.inputs,
            results=tuple(results),
            trace=judged,
            wall_time_s=lasted.clock_s,
            given_time_s=lasted.compared_s,
            num_altered=self._files[altered.rank].trace.num_altered_sends() if altered else 0,
            num_processes=census.get("seen"),
            num_processes_at_once=census.get("at_once"),
            opened_packages=tuple(census.get("opened") or ()),
        )

    def _check_interposer(self) -> None:
        """Refuse to grade when a preload failed: it does so silently."""
        if self._plan.standalone or self._plan.backend == "none":
            return
        for rank, rank_files in enumerate(self._files):
            if not rank_files.trace.snapshot().attached:
                raise GraderError(
                    f"the interposer is not active in rank {rank}: no call would be seen"
                )

    def _collect(self, kind: str) -> tuple[dict[int, Frame], float]:
        """Wait for one frame of `kind` from each rank; return them and when the last arrived."""
        answers_by_rank: dict[int, Frame] = {}
        returned: set[int] = set()
        troubled: dict[int, Frame] = {}
        finished_s = started_s = time.monotonic()
        denied_before_s = self._sandbox.denied_s()
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
                    raise RunEnded(self._failure_of(troubled, returned))
                continue
            failure = self._watch.look(gone)
            lasted = CaseTime(now_s - started_s, self._sandbox.denied_s() - denied_before_s)
            if lasted.is_up(limit_s):
                denied_s = self._sandbox.denied_s(up_to_now=True) - denied_before_s
                lasted = CaseTime(now_s - started_s, denied_s)
            is_up = failure is None and lasted.is_up(limit_s)
            if is_up:
                failure = self._watch.out_of_time(gone, lasted, limit_s)
            if failure is not None and not self._student_has_run:
                raise LaunchError(f"the ranks did not get ready: {failure.message}")
            if failure is not None:
                raise RunEnded(failure, is_starved=is_up and lasted.is_starved(limit_s))
        return answers_by_rank, finished_s

    def _failure_of(self, troubled: dict[int, Frame], returned: set[int]) -> RunFailure:
        """Return why the run cannot go on, from what its ranks last said."""
        if not self._student_has_run:
            rank = min(troubled)
            printed = f"{self.outputs.tail(rank)}\n{self._sandbox.log()}".strip()
            raise LaunchError(f"rank {rank} ended while starting. {printed}")
        wait_for_the_end(troubled, self._sandbox)
        excess = self._watch.excess()
        if excess is not None:
            return excess
        trace = self._watch.trace()
        crash = crash_after_return(returned & set(troubled), self._sandbox, trace)
        return crash or diagnose(
            troubled,
            self._files,
            self._sandbox,
            self._plan.entry,
            outputs=self.outputs,
            trace=trace,
            are_apart=self._plan.confined and self._plan.ranks > 1,
        )

    def refusals(self) -> tuple[str, ...]:
        """Return what was refused to the ranks, each in one sentence, whatever came of it."""
        found = enumerate(rank_files.trace.refusal() for rank_files in self._files)
        return tuple(answers.refusal_text(rank, refusal) for rank, refusal in found if refusal)


def _tick_s(lasted_s: float) -> float:
    """Return for how long to wait for an answer before the ranks are looked at again."""
    return min(max(_TICK_S, lasted_s * _TICK_SHARE), _LONGEST_TICK_S)
