"""The command that runs tests openly: pytest in every rank, stopped when the ranks hang."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from grader.addons.open_mode.open_board import (
    FOLDER_VARIABLE,
    SCRATCH,
    Board,
    RankState,
    RunningCase,
    explain_open,
    share_memory,
)
from grader.commands.context import courses_of, look
from grader.course.assignment import Assignment
from grader.course.courses import Courses
from grader.intake import process as intake
from grader.intake.placement.recognition import assignment_of
from grader.intake.placement.table import Placement, place
from grader.model.errors import GraderError, UsageError
from grader.model.plural import counted
from grader.model.report import RunFailure, Verdict
from grader.observe.forkserver.processes import kill_marked
from grader.observe.run_control.machine import check_machine, mpirun_command, rank_environment
from grader.observe.run_control.outputs import Outputs
from grader.observe.run_control.watch import Watch
from grader.recording.launch_plan import Limits
from grader.recording.observation import CaseTime, End, EndKind, RankEnd
from grader.report.quotes import evidence
from grader.report.safe_text import one_line
from grader.report.terminal_page import BOLD, Page
from grader.trace.calls import RankTrace, Trace

_TICK_S = 0.1
_SETTLED_S = 0.5
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class OpenEnd:
    """How a session has ended."""

    exit_code: int
    """Of pytest; 1 if the ranks were stopped, or crashed."""
    test: str = ""
    """The test that ran then."""
    failure: RunFailure | None = None
    """Why, in the words of a grading."""


def run_openly(root: Path, submission: Path, ranks: int, arguments: Sequence[str]) -> OpenEnd:
    """Run suites openly, on our own terminal. Raises GraderError if no rank starts."""
    base = Path("/dev/shm")  # noqa: S108 - a fresh folder with a random name in it
    within = base if base.is_dir() and os.access(base, os.W_OK) else None
    with tempfile.TemporaryDirectory(
        prefix=f"grader-open-{os.getpid()}-", dir=within, ignore_cleanup_errors=True
    ) as name:
        session = _Session(Path(name), submission.resolve(), ranks)
        return session.run(root.resolve(), arguments)


class _Session:
    """One mpirun, and what we know of its ranks."""

    def __init__(self, folder: Path, submission: Path, ranks: int) -> None:
        self._folder = folder
        self.submission = submission
        self._num_ranks = ranks
        self._board = Board(folder)
        self._files = share_memory(folder, ranks)
        self._case: RunningCase | None = None
        self._watch: Watch | None = None
        self._began_s = 0.0

    def run(self, root: Path, arguments: Sequence[str]) -> OpenEnd:
        """Start the ranks, watch them, and clean up after them."""
        scratch = self._folder / SCRATCH
        scratch.mkdir()
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [*self._command(root, scratch), *arguments], env=self._environment(scratch), cwd=root
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
        exit_code = self._board.exit_code()
        if exit_code is not None:
            return OpenEnd(exit_code)
        if self._case is None:
            raise GraderError(
                f"mpirun could not start {counted(self._num_ranks, 'rank')}; see its output"
            )
        return OpenEnd(1, test, self._told(self._crash()))

    def excess(self) -> None:
        """Return nothing: nobody limits what a student does to their own machine."""

    def dump_stacks(self, ranks: Sequence[int]) -> None:
        """Make these ranks write their stacks."""
        for rank in ranks:
            found = self._board.rank(rank, self._case) if self._case is not None else None
            if found is not None:
                with contextlib.suppress(OSError):
                    os.kill(found.pid, signal.SIGUSR1)

    def _look(self) -> End | None:
        """Return why the session must end now, or None."""
        case = self._board.case()
        if case is None:
            return None
        ranks = self._ranks(case)
        if len(ranks) < case.ranks:
            return None
        if self._case is None or self._case.number != case.number or self._watch is None:
            limits = Limits(case_s=case.limit_s)
            self._case, self._began_s = case, time.monotonic()
            self._watch = Watch(
                self._files[: case.ranks], self, self.submission, limits, makes_progress=True
            )
            self._watch.begin_case([each.first_sequence for each in ranks])
        ended = frozenset(n for n, each in enumerate(ranks) if each.has_ended)
        if len(ended) == case.ranks:
            return None
        if any(each.problem for each in ranks) and self._watch.still_s(ended) > _SETTLED_S:
            return self._end_of_problem(ranks, self._watch)
        end = self._watch.look(ended)
        lasted = CaseTime(time.monotonic() - self._began_s, run_queue_delay_s=0)
        if end is None and case.limit_s and lasted.is_up(case.limit_s):
            end = self._watch.out_of_time(ended, lasted, case.limit_s)
        # If the ranks went on to the next case meanwhile, the evidence proves nothing.
        return end if self._ranks(case) == ranks else None

    def _ranks(self, case: RunningCase) -> list[RankState]:
        """Return the states of the ranks that have begun the case."""
        found = (self._board.rank(rank, case) for rank in range(case.ranks))
        return [each for each in found if each is not None]

    def _end_of_problem(self, ranks: Sequence[RankState], watch: Watch) -> End:
        """Return the end for ranks that raised exceptions while others wait for them."""
        end = watch.end(EndKind.TROUBLE, ())
        outputs = Outputs((), self._folder)
        found = (
            replace(one, said="problem", values=outputs.values_without_our_paths(each.problem))
            if each.problem
            else one
            for one, each in zip(end.ranks, ranks, strict=True)
        )
        return replace(end, ranks=tuple(found))

    def _crash(self) -> End:
        """Return the end for a crash, with what the ranks wrote when they crashed."""
        folder = str(self.submission)
        ranks = (
            RankEnd(said="closed", place=each.place(folder), dumped_a_crash=each.tells_a_crash())
            for each in self._files
        )
        seen = [files.trace.read() for files in self._files]
        known = (each if each.attached else RankTrace.unseen(n) for n, each in enumerate(seen))
        return End(EndKind.TROUBLE, tuple(ranks), Trace(tuple(known)))

    def _told(self, end: End) -> RunFailure:
        """Return why the session ended, in the words of a grading, with each rank's last output."""
        assert self._case is not None
        outputs = Outputs(self._files, self._folder)
        tails = [outputs.tail(rank) for rank in range(self._num_ranks)]
        failure = explain_open(end, entry=self._case.entry, output_tails=tails)
        if failure.is_lasting or failure.verdict is Verdict.NOT_ATTEMPTED:
            return failure
        where = f"{counted(self._case.ranks, 'rank')}, {self._case.label}"
        return replace(failure, message=f"{where}: {failure.message}")

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        """Kill mpirun and its ranks: a rank that hangs in MPI ignores gentler signals."""
        # mpirun first, because it would explain at length that its ranks are gone.
        process.kill()
        process.wait()
        kill_marked(f"{FOLDER_VARIABLE}={self._folder}".encode())

    def _command(self, root: Path, scratch: Path) -> list[str]:
        return [
            *mpirun_command(self._num_ranks, scratch),
            *("--mca", "opal_signal", ""),  # a crash is told by the line of Python that it was in
            *(sys.executable, "-m", "pytest", "-q", "-rfEs", "--strict-markers"),
            *("-p", "grader.addons.open_mode.pytest_plugin", "--submission", str(self.submission)),
            *("-c", os.devnull, "--rootdir", str(root), "--confcutdir", str(root)),
            *("-p", "no:cacheprovider", "-p", "no:faulthandler"),
        ]

    def _environment(self, scratch: Path) -> Mapping[str, str]:
        ours: dict[str, Any] = {
            FOLDER_VARIABLE: str(self._folder),
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(_PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")])
            ),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **rank_environment(scratch),
        }
        kept = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
        return {**kept, **ours}


_TORCH = "torch"
_NO_TESTS = 5
"""Pytest's exit code if no test ran."""


def open_submission(options: argparse.Namespace, courses: Courses, *, colour: bool) -> OpenEnd:
    """Run the suites of a submission openly. Raises UsageError, GraderError."""
    folder, assignment = options.submission, options.assignment
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; `grade open` needs an unpacked folder")
    submission = intake.read(folder, courses.wanted(assignment))
    found = assignment_of(submission, assignment, courses)
    check_machine(found.needs)
    placement = place(submission, found)
    inside = placement.folder_of(options.part or [])
    if not (folder / inside).is_dir():
        raise UsageError(
            f"the files are inside {inside}, not in a folder: unpack it and name the new folder"
        )
    there = _files_in(inside, placement, options.part or [])
    arguments = (
        f"--color={'yes' if colour else 'no'}",
        *(["-k", options.k] if options.k else []),
        *(["-s"] if options.s else []),
        *(f"-{name}" for name in "xvq" if getattr(options, name)),
        *options.options,
        *(str(suite.resolve()) for suite in _suites(found, options.part or [], there)),
    )
    end = run_openly(found.folder.parent, folder / inside, options.ranks, arguments)
    return replace(end, exit_code=_exit_code(end.exit_code))


def _files_in(inside: str, placement: Placement, parts: Sequence[str]) -> set[str]:
    """Return the files that are in a folder under the required names.

    Raises UsageError if none is, or if a file of these parts is not.
    """
    paths = {file: PurePosixPath(path) for file, path in placement.chosen.items()}
    there = {file for file, path in paths.items() if path == PurePosixPath(inside, file)}
    for part in placement.assignment.parts:
        for file in part.files:
            is_wanted = part.name in parts if parts else not there
            if is_wanted and file in paths and file not in there:
                raise UsageError(
                    f"{paths[file]} must be named {PurePosixPath(inside, file)} for `grade "
                    "open`: rename it"
                )
    return there


def _exit_code(of_pytest: int) -> int:
    """Return 0 or 1. Raises UsageError if no test ran, GraderError if pytest failed."""
    if of_pytest == _NO_TESTS:
        raise UsageError(
            "these options select no checks; `grade list --prices ASSIGNMENT` names all checks"
        )
    if of_pytest not in (0, 1):
        raise GraderError(f"pytest failed with exit code {of_pytest}; see its output")
    return of_pytest


def _suites(found: Assignment, wanted: Sequence[str], handed_in: set[str]) -> tuple[Path, ...]:
    """Return the suites of the wanted parts, or of all that something was handed in for."""
    if sentence := found.wrong_part(wanted):
        raise UsageError(sentence)
    chosen = [part for part in found.parts if part.name in wanted]
    chosen = chosen or list(found.parts_with(handed_in))
    if not chosen:
        raise UsageError(f"no file of {found.name} was found, so there is nothing to run")
    open_to_it = [part for part in chosen if not part.backend.startswith(_TORCH)]
    if not open_to_it:
        raise UsageError(
            "`grade open` cannot run parts that start their own processes, such as "
            f"{chosen[0].name} of {found.name}: add prints to your code, and use `grade check`"
        )
    return tuple(found.folder / part.suite for part in open_to_it)


def ended(page: Page, test: str, failure: RunFailure) -> list[str]:
    """Return lines that name the test, the reason, the last output, and the next step."""
    lines = ["", f"{page.verdict(failure.verdict)} in {page.paint(one_line(test), BOLD)}"]
    lines += page.message(failure.message)
    for piece in evidence(failure.detail):
        lines += ["", *page.paragraph(f"{piece.heading}:"), *page.quoted(piece.lines)]
    name = one_line(test.partition("[")[0].removeprefix("test_"))
    next_step = (
        "The session stopped, because a rank that hangs or has crashed cannot continue. To "
        f'run the other checks, leave this one out: -k "not {name}"'
    )
    return [*lines, "", *page.paragraph(next_step)]


def open_tests(options: argparse.Namespace) -> int:
    """Run tests openly; return 0 if all pass, 1 if one fails."""
    colour, width = look(sys.stdout.isatty(), options)
    end = open_submission(options, courses_of(options), colour=colour)
    if end.failure is not None:
        page = Page(colour, options.plain, width, verbose=True)
        print("\n".join(ended(page, end.test, end.failure)))
    return end.exit_code
