"""Runs a suite openly: every rank runs every test, `run` calls the probe in this very process.

For debugging with print and pdb. Nothing is sealed here. `grade open` watches over the ranks and
ends them when they hang; without it, they hang forever. What each rank prints in a case is kept
apart, and shown one rank at a time.
"""

import contextlib
import ctypes
import faulthandler
import io
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from grader.addons.open_mode.open_board import (
    FOLDER_VARIABLE,
    SCRATCH,
    Board,
    RankState,
    RunningCase,
    Said,
    combined,
)
from grader.course.assignment import Assignment
from grader.course.course import Course
from grader.course.data import Data
from grader.course.secret import PUBLIC_SECRET
from grader.grading_plugin.launch_results import (
    CaseNotRun,
    Launch,
    RunFailed,
    make_launch,
    never_run,
)
from grader.grading_plugin.marks import TestNotRun, function_of, not_run, stage_of
from grader.grading_plugin.plan import case_calls
from grader.grading_plugin.plugin_base import Asked, SuiteMode
from grader.grading_plugin.relaunch import Answer, NotRun, naming
from grader.intake.archives.names import is_skipped
from grader.judge.check_failures import BudgetExceeded, NotProven, RuleViolation, WrongAnswer
from grader.judge.explanation.crash_messages import remarks_of
from grader.model.paths import folders_above
from grader.model.report import RunFailure
from grader.observe.run_control.rank_files import RankFiles
from grader.observe.run_control.rank_messages import Frame
from grader.observe.run_control.sandbox import work_folders
from grader.rank import exception_report, missing_packages, mpi_shim, probe_modules
from grader.rank.harness import sort_results
from grader.rank.import_finder import OwnModules
from grader.rank.remarks import Remarks
from grader.rank.student import Student
from grader.recording.launch_plan import CaseCall

_MAX_SHOWN_NUM_BYTES = 1 << 16


@contextlib.contextmanager
def printing_to(descriptor: int) -> Iterator[None]:
    """Redirect everything that this process prints to an empty file, including C code's output."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    before = sys.stdout, sys.stderr
    for stream in before:
        stream.flush()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    text = io.TextIOWrapper(
        os.fdopen(os.dup(descriptor), "wb"),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = sys.stderr = text
    try:
        yield
    finally:
        text.close()
        sys.stdout, sys.stderr = before
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)


def printed_in(descriptor: int) -> str:
    """Return the content of such a file, or only its end if it is long."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - _MAX_SHOWN_NUM_BYTES)
    text = os.pread(descriptor, size - start, start).decode(errors="replace")
    return f"... (first {start} bytes left out)\n{text}" if start else text


def told(title: str, outputs: Sequence[str]) -> str:
    """Return what the ranks printed, in the order of ranks; empty if they printed nothing."""
    lines = []
    for rank, output in enumerate(outputs):
        if output.strip():
            lines += [f"rank {rank} printed:", *(f"    {line}" for line in output.splitlines())]
    heading = [f"-- {title}"] if title else []
    return "\n".join([*heading, *lines]) if lines else ""


_PATIENCE = 3
"""How many times its limit a case may take: no mark depends on it, and the time that a busy machine
takes is not subtracted."""
_FINDINGS = (WrongAnswer, RuleViolation, BudgetExceeded, NotProven)


class OpenMode(SuiteMode):
    """The plugin of one rank of an open session."""

    def __init__(self, config: pytest.Config, submission: Path, files: RankFiles) -> None:
        """files: of this rank; the interposer writes the trace among them."""
        super().__init__()
        self._submission = submission.resolve()
        self._files = files
        self._work_folders = _work_folders(self._submission)
        self._remarks: list[Remarks] = []
        from mpi4py import MPI

        self._mpi = MPI
        self._shared = mpi_shim.install(sys.modules["mpi4py.MPI"])
        self._world = MPI.COMM_WORLD.Dup()
        self._student = Student(MPI.Pcontrol, leaves_messages=True)
        self._progress = ctypes.CDLL(None).grader_progress  # of the interposer
        self._is_live = config.getoption("capture") == "no"
        """For debugging rank 0: its output is visible at once, and there is no time limit."""
        self._has_limits = not self._is_live and not config.getoption("usepdb", False)
        self._num_cases = 0
        self._most_ranks = 0
        """The most ranks that the current test needs, if this job has fewer."""
        self._probes: dict[Path, ModuleType] = {}
        self._support = Path()
        """The folder with the assignment's support files."""
        data = os.environ.get("GRADER_DATA")
        self._data = Data(Path(data) if data else None)
        self._is_watched = FOLDER_VARIABLE in os.environ
        self._folder = self._shared_folder()
        self._board = Board(self._folder)
        faulthandler.register(signal.SIGUSR1, file=files.stacks, all_threads=False)
        faulthandler.enable(file=files.stacks)

    def _shared_folder(self) -> Path:
        """Return the folder of the session; without a watcher, rank 0 makes one."""
        if self._is_watched:
            return Path(os.environ[FOLDER_VARIABLE])
        made = ""
        if self._world.rank == 0:
            made = tempfile.mkdtemp(prefix="grader-open-")
            (Path(made) / SCRATCH).mkdir()
        return Path(self._world.bcast(made))

    def _own_folder(self) -> Path:
        """Return this rank's work folder, with the folders of the submission, as in gradings."""
        own = self._folder / SCRATCH / f"rank-{self._world.rank}"
        for folder in ("", *self._work_folders):
            with suppress(OSError):
                (own / folder).mkdir(parents=True, exist_ok=True)
        return own

    def launch(self, item: pytest.Item, asked: Asked) -> Launch:
        """Run the cases on the first ranks of this job; every rank gets the outcomes."""
        ranks, cases = asked.ranks, asked.cases
        folder = item.path.parent
        assignment = Course.around(folder).load(folder.name)
        part = next(each for each in assignment.parts if each.name == asked.part)
        backend = asked.backend or part.backend
        if backend.startswith("torch"):
            pytest.skip(f"this part starts its own processes; use grade check --part {part.name}")
        if any(case.message_fault is not None for case in cases):
            only = f"--part {part.name} --only {function_of(item)}"
            pytest.skip(
                f"this check alters messages, which may crash the ranks; use grade check {only}"
            )
        if ranks > self._world.size:
            # A rule is judged on the cases that ran.
            self._most_ranks = max(ranks, self._most_ranks)
            return never_run(cases, ranks, f"it needs {ranks} ranks")
        self._find_modules(assignment)
        calls = case_calls(
            cases,
            ranks,
            secret=PUBLIC_SECRET,
            assignment=assignment.name,
            part=part.name,
            suite=asked.suite,
            standalone=asked.standalone,
            backend=backend,
            data=self._data,
        )
        taking_part = self._world.rank < ranks
        group = self._world.Split(0 if taking_part else self._mpi.UNDEFINED)
        probes = self._probes_of(assignment)
        outcomes: list[Answer] = []
        left_out: set[str] = set()
        for case, call in zip(cases, calls, strict=True):
            if case.subject in left_out:
                outcomes.append(NotRun("same cause as above"))
                continue
            self._num_cases += 1
            case_s = max(part.case_time_limit_s, case.time_limit_s)
            limit_s = _PATIENCE * case_s if self._has_limits else 0
            running = RunningCase(
                self._num_cases, item.name, call.label, ranks, limit_s, part.entry
            )
            said = None
            communicator = group.Dup() if taking_part else group
            if taking_part:
                said = self._answer(call, communicator, probes, backend, running)
            else:
                self._board.wait_for(running, self._progress)
            answer = self._outcome(call, running, said)
            self._free(communicator)
            if isinstance(answer, RunFailure):
                answer = naming(answer, case, ranks)
                left_out |= {case.subject} - {""}
            outcomes.append(answer)
        self._free(group)
        return make_launch(cases, outcomes, ranks)

    def _free(self, communicator: Any) -> None:
        """Give a communicator back, unless this rank has none or the submission has done so."""
        # Code that runs between cases, such as pytest-mpi, needs COMM_WORLD.
        self._shared.begin_case(self._mpi.COMM_WORLD, is_initialised=True)
        if communicator not in (self._mpi.COMM_NULL, self._mpi.COMM_WORLD):
            communicator.Free()

    def _find_modules(self, assignment: Assignment) -> None:
        """Let imports find our support files first, then the submission."""
        support = self._folder / f"support-{assignment.name}"
        if support == self._support:
            return
        if self._world.rank == 0:
            for file, source in assignment.support_paths().items():
                link = support / file
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(source)
        self._world.Barrier()
        sys.path += [str(support), str(self._submission)]
        sys.meta_path.append(OwnModules(self._submission))
        self._remarks.append(missing_packages.install(self._submission, support))
        self._support = support

    def _probes_of(self, assignment: Assignment) -> ModuleType:
        if assignment.folder not in self._probes:
            sources = assignment.probe_sources()
            self._probes[assignment.folder] = probe_modules.load(sources)
        return self._probes[assignment.folder]

    def _answer(
        self,
        call: CaseCall,
        communicator: Any,
        probes: ModuleType,
        backend: str,
        running: RunningCase,
    ) -> Said:
        """Run one case in this rank; return when all its ranks have ended it."""
        self._shared.begin_case(communicator, is_initialised=backend != "mpi-student")
        given = None if backend == "none" else communicator
        inputs = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in call.inputs[communicator.rank].items()
        }
        trace = self._files.trace
        trace.set_synchronous_sends(call.synchronous_sends)
        trace.alter_nothing()
        if communicator.rank == 0:
            self._board.tell("case", running)
        communicator.Barrier()
        first = trace.snapshot().head
        is_live = self._is_live and communicator.rank == 0
        if is_live:
            print(f"\n-- {running.title}", flush=True)
        os.chdir(self._own_folder())
        name = f"rank-{communicator.rank}"
        state = RankState(os.getpid(), running.number, first)
        self._board.tell(name, state)
        started_s = time.monotonic()
        frame, raised = None, None
        with nullcontext() if is_live else printing_to(self._files.output):
            try:
                results = getattr(probes, call.probe)(self._student, given, **inputs)
                self._student.mark_phase(0)
                frame = Frame("result", *sort_results(results))
            except (Exception, SystemExit) as error:
                command = self._student.command
                raised = exception_report.describe(error, self._submission, self._support, command)
        wall_time_s = time.monotonic() - started_s
        seen = trace.read(first)
        self._board.tell(name, replace(state, has_ended=True, problem=raised))
        # Pending messages must still be sent in the mode of their case.
        self._board.wait_for(running, self._progress)
        trace.set_synchronous_sends(False)
        counted = replace(seen, calls=seen.calls.where(seen.calls.column("phase") == 1))
        printed = "" if is_live else printed_in(self._files.output)
        return Said(frame, raised, counted, wall_time_s, printed)

    def _outcome(self, call: CaseCall, running: RunningCase, said: Said | None) -> Answer:
        """Return the result of a case, in every rank; rank 0 shows what was printed."""
        everyone: list[Said] = self._world.allgather(said)[: running.ranks]
        if self._world.rank == 0:
            title = "" if self._is_live else running.title
            text = told(title, [each.printed for each in everyone])
            print(text, end="\n" if text else "")
        return combined(everyone, call, running.entry)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Remember all tests, also those that -k leaves out: others may require them.

        Stages are left out: there are no points here.
        """
        items[:] = [item for item in items if stage_of(item) is None]
        self.remember(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """Show a mistake of a submission as a sentence; skip tests whose cases never ran."""
        self._most_ranks = 0
        try:
            return (yield from super().pytest_pyfunc_call(pyfuncitem))
        except (CaseNotRun, pytest.skip.Exception) as error:
            if self._most_ranks and isinstance(error, CaseNotRun | TestNotRun):
                # Whatever the reason: with more ranks, the test might run.
                most = self._most_ranks
                pytest.skip(f"this check needs {most} ranks; run again with -n {most}")
            if isinstance(error, CaseNotRun):
                not_run(str(error))
            raise

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Leave out our own stack frames if a finding says enough."""
        report = yield from super().pytest_runtest_makereport(item, call)
        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(error, RunFailed):
            report.longrepr = "\n\n".join(filter(None, [str(error), error.failure.detail]))
        elif isinstance(error, _FINDINGS):
            report.longrepr = str(error)
        elif isinstance(error, pytest.skip.Exception):
            report.longrepr = (str(item.path), None, f"Skipped: {error}")
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print remarks on lines, which cost no points."""
        remarks = [each for made in self._remarks for each in made.listed(str(self._submission))]
        paths = {file: self._submission / file for _, _, file, _ in remarks}
        sources = {file: path.read_bytes() for file, path in paths.items() if path.is_file()}
        values = {"remarks": [list(each) for each in remarks]}
        for remark in remarks_of(values, sources):
            terminalreporter.write_line(f"note: {remark}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Tell the watcher the exit code, and end with 0: mpirun must not explain a failed test."""
        if self._is_watched:
            if self._world.rank == 0:
                self._board.tell("exit", int(exitstatus))
            session.exitstatus = 0

    def pytest_unconfigure(self) -> None:
        """Remove the folder of the session, if there is no watcher to do it."""
        if not self._is_watched and self._world.rank == 0:
            shutil.rmtree(self._folder, ignore_errors=True)


def _work_folders(submission: Path) -> list[str]:
    """Return the submission's folders that a rank gets in its work folder."""
    scripts, folders = list[str](), set[str]()
    for root, inner, files in os.walk(submission):
        here = Path(root)
        inner[:] = [name for name in inner if not (is_skipped(name) or (here / name).is_symlink())]
        place = here.relative_to(submission)
        folders |= {str(place / name) for name in inner}
        scripts += [str(place / name) for name in files if name.endswith(".py")]
    with_scripts = {folder for file in scripts for folder in folders_above(file)}
    return work_folders(scripts, folders - with_scripts)
