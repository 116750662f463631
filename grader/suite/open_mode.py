"""The suite in the open: every rank runs every test, `run` calls the probe in this very process.

For debugging with print and pdb. Nothing is sealed here, and a hang stays a hang, but for a rank
that raises while the others wait: that ends the job.
"""

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from grader import assignment as assignments
from grader.data import Data
from grader.home import SUITES
from grader.judge.lower_case import name_lower_case
from grader.model import Outcome, RunFailure, Verdict
from grader.rank import own_mpi, problem
from grader.rank.harness import sort_results
from grader.rank.student import Student
from grader.runner import answers
from grader.runner.plan import CaseCall
from grader.runner.rank_files import NUM_TRACE_RECORDS
from grader.runner.wire import Frame
from grader.suite.case import Case
from grader.suite.continuation import Answer, naming
from grader.suite.inputs import PUBLIC_SECRET, case_calls
from grader.suite.launch_view import Launch, make_launch
from grader.suite.mode import SuiteMode, part_of, suite_of
from grader.trace.calls import RankTrace, Trace
from grader.trace.memory import TraceMemory

_PATIENCE_S = 10.0


@dataclass(frozen=True)
class _Said:
    """What one rank has to say about a case."""

    frame: Frame | None
    problem: Mapping[str, Any] | None
    trace: RankTrace
    wall_time_s: float
    num_altered: int


class OpenMode(SuiteMode):
    """The plugin of one rank of an open session."""

    def __init__(self, submission: Path, trace_fd: int) -> None:
        super().__init__()
        self._submission = submission.resolve()
        self._trace = TraceMemory(trace_fd, NUM_TRACE_RECORDS)
        from mpi4py import MPI

        self._mpi = MPI
        self._shared = own_mpi.install(sys.modules["mpi4py.MPI"])
        self._world = MPI.COMM_WORLD.Dup()
        self._student = Student(MPI.Pcontrol)
        self._probes: dict[Path, ModuleType] = {}
        self._support: dict[str, tempfile.TemporaryDirectory[str]] = {}
        folder = os.environ.get("GRADER_DATA")
        self._data = Data(Path(folder) if folder else None)

    def launch(
        self,
        item: pytest.Item,
        ranks: int,
        cases: tuple[Case, ...],
        genuine: bool,
        world: str | None,
    ) -> Launch:
        """Run the cases on the first `ranks` ranks of this job; every rank gets the outcomes."""
        if ranks > self._world.size:
            pytest.skip(f"needs {ranks} ranks; start with mpirun -n {ranks}")
        folder = item.path.parent
        assignment = assignments.load(folder.name, SUITES)
        part = next(each for each in assignment.parts if each.name == part_of(item))
        world = world or part.world
        if world.startswith("torch"):
            pytest.skip(f"starts processes of its own: grade check --part {part.name}")
        self._find_modules(assignment)
        calls = case_calls(
            cases,
            ranks,
            secret=PUBLIC_SECRET,
            assignment=assignment.name,
            part=part.name,
            suite=suite_of(item),
            genuine=genuine,
            world=world,
            data=self._data,
        )
        taking_part = self._world.rank < ranks
        group = self._world.Split(0 if taking_part else self._mpi.UNDEFINED)
        outcomes: list[Answer] = [None] * len(cases)
        for index, (case, call) in enumerate(zip(cases, calls, strict=True)):
            probes = self._probes_of(folder)
            communicator = group.Dup() if taking_part else group
            said = self._answer(call, communicator, probes, world) if taking_part else None
            everyone = self._gather(said)[:ranks]
            self._free(communicator)
            raised = [rank for rank, each in enumerate(everyone) if each.problem is not None]
            if raised:
                told = everyone[raised[0]].problem
                failure = answers.failure_of_problem(raised[0], told or {}, part.entry)
                outcomes[index] = naming(failure, case, ranks)
                break
            answer = _outcome(call, everyone)
            if isinstance(answer, RunFailure):
                answer = naming(answer, case, ranks)
            outcomes[index] = answer
        self._free(group)
        return make_launch(cases, outcomes, ranks, "a case before it failed")

    def _free(self, communicator: Any) -> None:
        """Give a communicator back, unless this rank has none or the submission has done so."""
        # Whoever looks between cases, such as pytest-mpi, finds the one that stays.
        self._shared.begin_case(self._mpi.COMM_WORLD, is_initialised=True)
        if communicator not in (self._mpi.COMM_NULL, self._mpi.COMM_WORLD):
            communicator.Free()

    def _find_modules(self, assignment: assignments.Assignment) -> None:
        """Let imports find our support files first, then the submission."""
        if assignment.name not in self._support:
            support = tempfile.TemporaryDirectory(prefix="grader-support-")
            for file, source in assignments.support_paths(assignment).items():
                link = Path(support.name, file)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(source)
            self._support[assignment.name] = support
            sys.path += [support.name, str(self._submission)]

    def pytest_unconfigure(self) -> None:
        """Remove the folders of support files."""
        for support in self._support.values():
            support.cleanup()

    def _probes_of(self, folder: Path) -> ModuleType:
        if folder not in self._probes:
            probes = ModuleType("probes")
            source = (folder / "probes.py").read_text()
            exec(compile(source, "probes.py", "exec"), probes.__dict__)  # noqa: S102 - ours
            self._probes[folder] = probes
        return self._probes[folder]

    def _answer(self, call: CaseCall, communicator: Any, probes: ModuleType, world: str) -> _Said:
        """Run one case in this rank."""
        self._shared.begin_case(communicator, is_initialised=world != "mpi-student")
        given = None if world == "alone" else communicator
        inputs = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in call.inputs[communicator.rank].items()
        }
        self._trace.set_synchronous_sends(call.synchronous_sends)
        altered = call.altered_message
        if altered is not None and altered.rank == communicator.rank:
            self._trace.alter_sends(
                altered.number, min_num_bytes=altered.min_num_bytes, position=altered.position
            )
        first = self._trace.snapshot().head
        started_s = time.monotonic()
        frame, told = None, None
        try:
            results = getattr(probes, call.probe)(self._student, given, **inputs)
            frame = Frame("result", *sort_results(results))
        except Exception as error:
            told = problem.describe(error, self._submission)
        wall_time_s = time.monotonic() - started_s
        self._trace.set_synchronous_sends(False)
        num_altered = self._trace.num_altered_sends()
        self._trace.alter_nothing()
        trace = self._trace.read(first)
        counted = replace(trace, calls=tuple(call for call in trace.calls if call.phase == 1))
        return _Said(frame, told, counted, wall_time_s, num_altered)

    def _gather(self, said: _Said | None) -> list[_Said]:
        """Return what every rank says; end the job when one has raised and others never come."""
        if said is not None and said.problem is not None:
            arrived = self._world.Ibarrier()
            until_s = time.monotonic() + _PATIENCE_S
            while not arrived.Test():
                if time.monotonic() > until_s:
                    print(said.problem["traceback"], file=sys.stderr, flush=True)
                    self._world.Abort(1)
                time.sleep(0.01)
        else:
            self._world.Ibarrier().Wait()
        everyone: list[_Said] = self._world.allgather(said)
        return everyone


def _outcome(call: CaseCall, everyone: list[_Said]) -> Outcome | RunFailure:
    results = []
    for rank, (said, expected) in enumerate(zip(everyone, call.expected, strict=True)):
        assert said.frame is not None
        result, refused = answers.refuse(rank, expected, said.frame)
        if refused:
            return RunFailure(Verdict.WRONG_ANSWER, refused)
        results.append(result)
    return Outcome(
        label=call.label,
        ranks=len(everyone),
        inputs=call.inputs,
        results=tuple(results),
        trace=name_lower_case(Trace(tuple(said.trace for said in everyone))),
        wall_time_s=max(said.wall_time_s for said in everyone),
        num_altered=sum(said.num_altered for said in everyone),
    )
