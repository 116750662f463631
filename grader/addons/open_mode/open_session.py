"""Starts an open session, pytest in every rank of an mpirun, and ends it when its ranks hang."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.addons.open_mode.open_answers import explain_open
from grader.addons.open_mode.open_board import (
    FOLDER_VARIABLE,
    SCRATCH,
    Board,
    RunningCase,
    State,
)
from grader.grading_plugin.relaunch import ranks_text
from grader.model.errors import GraderError
from grader.model.report import RunFailure, Verdict
from grader.observe.run_control.machine import libraries, mpirun
from grader.observe.run_control.outputs import Outputs
from grader.observe.run_control.rank_files import RankFiles
from grader.observe.run_control.tagged_processes import kill_marked
from grader.observe.run_control.watch import Watch
from grader.recording.launch_plan import Limits
from grader.recording.observation import CaseTime, End, EndKind, RankEnd
from grader.trace.calls import RankTrace, Trace

_TICK_S = 0.1
_SETTLED_S = 0.5
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class OpenOrder:
    """What is to be run in the open."""

    suites: tuple[Path, ...]
    """Files of suites."""
    root: Path
    """The folder that all suites of the course lie in."""
    submission: Path
    """The folder whose files are asked for."""
    ranks: int
    pytest_options: tuple[str, ...] = ()
    colour: bool = False


@dataclass(frozen=True)
class OpenEnd:
    """How a session has ended."""

    exit_code: int
    """Of pytest; 1 where the ranks had to be ended, or ended themselves."""
    test: str = ""
    """Which test that was in."""
    failure: RunFailure | None = None
    """Why: the sentence that a grading would tell."""


def run_openly(order: OpenOrder) -> OpenEnd:
    """Run suites in the open, on the terminal that we have.

    Raises GraderError when the ranks cannot be started.
    """
    base = Path("/dev/shm")  # noqa: S108 - a fresh folder with a random name in it
    within = base if base.is_dir() and os.access(base, os.W_OK) else None
    with tempfile.TemporaryDirectory(
        prefix=f"grader-open-{os.getpid()}-", dir=within, ignore_cleanup_errors=True
    ) as name:
        return _Session(order, Path(name)).run()


class _Session:
    """One mpirun, and what we know of its ranks."""

    def __init__(self, order: OpenOrder, folder: Path) -> None:
        self._order = order
        self._folder = folder
        self._board = Board.create(folder, order.ranks)
        self._files: dict[int, RankFiles] = {}
        self._case: RunningCase | None = None
        self._watch: Watch | None = None
        self._began_s = 0.0
        self.submission = order.submission.resolve()

    def run(self) -> OpenEnd:
        """Start the ranks, look after them, and clean up behind them."""
        scratch = self._folder / SCRATCH
        scratch.mkdir()
        process = subprocess.Popen(  # noqa: S603 - our own command line
            self._command(scratch), env=self._environment(scratch), cwd=self._order.root
        )
        end = None
        try:
            while process.poll() is None and end is None:
                time.sleep(_TICK_S)
                end = self._look()
        finally:
            self._end(process)
        self._case = self._board.case()
        test = self._case.test if self._case is not None else ""
        if end is not None:
            return OpenEnd(1, test, self._told(end))
        if self._board.exit_code >= 0:
            return OpenEnd(self._board.exit_code)
        if self._case is None:
            raise GraderError(
                f"{ranks_text(self._order.ranks)} could not be started; see the output of mpirun"
            )
        return OpenEnd(1, test, self._told(self._crash()))

    def excess(self) -> None:
        """Return nothing: nobody limits what a student does to their own machine."""

    def dump_stacks(self, ranks: Sequence[int]) -> None:
        """Have these ranks write where they are."""
        for rank in ranks:
            with contextlib.suppress(OSError, IndexError):
                os.kill(self._board.pids()[rank], signal.SIGUSR1)

    def _look(self) -> End | None:
        """Return how the session has to end now, if anything ends it."""
        self._join()
        case = self._board.case()
        if case is None:
            return None
        states = {rank: self._board.state(rank, case) for rank in range(case.ranks)}
        if State.IDLE in states.values():
            return None
        files = [self._files[rank] for rank in range(case.ranks)]
        if self._case is None or self._case.number != case.number or self._watch is None:
            limits = Limits(case_s=case.limit_s)
            self._case, self._began_s = case, time.monotonic()
            self._watch = Watch(files, self, limits, makes_progress=True)
            self._watch.begin_case(self._board.first_sequences(case))
        ended = frozenset(rank for rank, state in states.items() if state is not State.IN_CASE)
        if len(ended) == case.ranks:
            return None
        raised = [rank for rank, state in states.items() if state is State.RAISED]
        if raised and self._watch.still_s(ended) > _SETTLED_S:
            return self._end_of_problem(raised, self._watch)
        end = self._watch.look(ended)
        lasted = CaseTime(time.monotonic() - self._began_s, denied_s=0)
        if end is None and case.limit_s and lasted.is_up(case.limit_s):
            end = self._watch.out_of_time(ended, lasted, case.limit_s)
        # What was read while the ranks went on to the next case would prove nothing.
        now = [self._board.state(rank, case) for rank in range(case.ranks)]
        return end if now == list(states.values()) else None

    def _join(self) -> None:
        """Open what the ranks share, as soon as they have it: they wait for that."""
        for rank in range(self._order.ranks):
            files = None if rank in self._files else self._board.files_of(rank)
            if files is not None:
                self._files[rank] = files

    def _end_of_problem(self, raised: Sequence[int], watch: Watch) -> End:
        """Return what ranks have raised while others wait for them."""
        end = watch.end(EndKind.TROUBLE, ())
        ranks = list(end.ranks)
        outputs = Outputs((), self._folder)
        for rank in raised:
            values = outputs.values_without_our_paths(self._board.problem(rank))
            ranks[rank] = replace(ranks[rank], said="problem", values=values)
        return replace(end, ranks=tuple(ranks))

    def _crash(self) -> End:
        """Return an end of which some rank is the cause, by what it wrote when it crashed."""
        folder = str(self.submission)
        ends, seen = [], []
        for rank in range(self._order.ranks):
            files = self._files.get(rank)
            place = files.place(folder) if files else None
            dumped = files is not None and files.tells_a_crash()
            ends.append(RankEnd(said="closed", place=place, dumped_a_crash=dumped))
            seen.append(files.trace.read() if files else RankTrace.unseen(rank))
        return End(EndKind.TROUBLE, tuple(ends), Trace(tuple(seen)))

    def _told(self, end: End) -> RunFailure:
        """Return why the session ended as a grading tells it, with what each rank printed last."""
        assert self._case is not None
        known = sorted(self._files)
        outputs = Outputs([self._files[rank] for rank in known], self._folder)
        tails = {rank: outputs.tail(index) for index, rank in enumerate(known)}
        failure = explain_open(
            end,
            entry=self._case.entry,
            output_tails=[tails.get(rank, "") for rank in range(self._order.ranks)],
        )
        if failure.is_lasting or failure.verdict is Verdict.NOT_ATTEMPTED:
            return failure
        where = f"{ranks_text(self._case.ranks)}, {self._case.label}"
        return replace(failure, message=f"{where}: {failure.message}")

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        """End mpirun and its ranks: whoever hangs in MPI does not hear anything gentler."""
        # mpirun first, for it would explain at length that its ranks have gone.
        process.kill()
        process.wait()
        kill_marked(f"{FOLDER_VARIABLE}={self._folder}".encode())

    def _command(self, scratch: Path) -> list[str]:
        command = [mpirun(), "--oversubscribe", "--bind-to", "none", "-n", str(self._order.ranks)]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
        options = {
            # Without these two every start looks for networks for a second.
            "pml": "ob1",
            "btl": "self,sm",
            "smsc": "^cma",
            "btl_sm_backing_directory": str(scratch),
            "mpi_yield_when_idle": "1",
            # A crash is told by the line of Python that it was in.
            "opal_signal": "",
        }
        for name, value in options.items():
            command += ["--mca", name, value]
        suites = self._order.root.resolve()
        return [
            *command,
            *(sys.executable, "-m", "pytest", "-q", "-rfEs", "--strict-markers"),
            *("-p", "grader.addons.open_mode.pytest_plugin", "--submission", str(self.submission)),
            *("-c", os.devnull, "--rootdir", str(suites), "--confcutdir", str(suites)),
            *("-p", "no:cacheprovider", "-p", "no:faulthandler"),
            f"--color={'yes' if self._order.colour else 'no'}",
            *self._order.pytest_options,
            *(str(suite.resolve()) for suite in self._order.suites),
        ]

    def _environment(self, scratch: Path) -> Mapping[str, str]:
        ours: dict[str, Any] = {
            FOLDER_VARIABLE: str(self._folder),
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(_PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")])
            ),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "LD_LIBRARY_PATH": libraries(mpirun()),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "MPLBACKEND": "Agg",
            "MPLCONFIGDIR": str(scratch),
            "TMPDIR": str(scratch),
        }
        kept = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
        return {**kept, **ours}
