"""Runs one point in processes of its own, under a time limit, and takes what its ranks report."""

import contextlib
import fcntl
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grader.course.assignment import SHARED_SUPPORT, Assignment
from grader.intake.answer import signal_name
from grader.intake.placement.table import place
from grader.intake.submission import Submission
from grader.model.errors import UsageError
from grader.observe.forkserver.processes import descendants, kill_marked
from grader.observe.forkserver.run_queue_delay import RunQueueDelay
from grader.observe.run_control.machine import (
    ending_with_us,
    free_port,
    mpirun_command,
    rank_environment,
)
from grader.study.plan import Launcher, Point
from grader.study.results import Measurement

SHARED_PROGRAM = "study_point.py"
NOT_HANDED_IN = "not handed in"
"""How the reason ends why a file is not there."""
_PREFIX = "grader-study-"
_LOCK = "lock"
_BASE = Path("/dev/shm")  # noqa: S108 - a fresh folder with a random name in it


@dataclass(frozen=True)
class Sources:
    """The files that a study runs."""

    files: Mapping[str, bytes]
    """By their path in the folder: what was handed in, and the grader's support files."""
    handed_in: frozenset[str]
    """Those of the files that are a student's."""
    programs: Mapping[str, bytes]
    """Those that measure, by name."""

    def missing(self, needs: tuple[str, ...]) -> str:
        """Return why a point cannot be measured for want of a file; empty where it can."""
        absent = [file for file in needs if file not in self.files]
        verb = "were" if len(absent) > 1 else "was"
        return f"{' and '.join(absent)} {verb} {NOT_HANDED_IN}" if absent else ""


def sources(assignment: Assignment, submission: Submission | None) -> Sources:
    """Return what to run: a submission, or else the reference. Raises UsageError, GraderError."""
    support = {name: path.read_bytes() for name, path in assignment.support_paths().items()}
    if submission is None:
        if assignment.is_for_students:
            raise UsageError(
                f"the reference for {assignment.name} is not installed here; name your own files "
                "with --submission DIR"
            )
        paths = {name: assignment.reference / name for name in assignment.handed_in}
        student = {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
    else:
        student = place(submission, assignment).sources
    programs = {
        path.name: path.read_bytes()
        for path in sorted((assignment.folder / "study" / "programs").glob("*.py"))
    }
    programs[SHARED_PROGRAM] = (SHARED_SUPPORT / SHARED_PROGRAM).read_bytes()
    return Sources({**student, **support}, frozenset(student), programs)


@contextmanager
def workplace(found: Sources) -> Iterator[Path]:
    """Write all files into a fresh folder, and remove it again.

    In it, `work` holds the files and the programs, `reports` and `scratch` are empty. What studies
    have left that were killed is removed as well.
    """
    base = _BASE if _BASE.is_dir() else Path(tempfile.gettempdir())
    _remove_abandoned(base)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    try:
        held = _held(folder)
        for name in ("reports", "scratch", "work/figures"):
            (folder / name).mkdir(parents=True)
        for name, content in {**found.files, **found.programs}.items():
            path = folder / "work" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        with held:
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _held(folder: Path) -> IO[bytes]:
    """Return a locked file in a folder: nobody can lock it while this process is there."""
    unheld = folder / f"{_LOCK}.unheld"
    file = unheld.open("wb")
    fcntl.flock(file, fcntl.LOCK_EX)
    unheld.rename(folder / _LOCK)  # under its name it has never been free
    return file


def _remove_abandoned(base: Path) -> None:
    for lock in base.glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError), lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)


_MAX_READ_NUM_BYTES = 1 << 16
_MAX_SENTENCE_NUM_CHARS = 200
_WRONG = "WrongResult"
"""What a program raises that finds a result to be wrong."""
_CERTAIN = (_WRONG, "NotImplementedError")
"""What comes again when the same code is run again; a crash may come of the machine."""
_HEAD = "Traceback (most recent call last):"
_ERROR = re.compile(r"([A-Za-z_][\w.]*)(?:: (.*))?")
_USAGE = re.compile(r"\S+\.py: error: (.*)")
"""How argparse refuses an option."""
_BEFORE = re.compile(r"\[rank\d+\]: ?")
"""What torch puts before the lines of a traceback."""


def why_failed(folder: Path, exit_code: int, is_complete: bool) -> tuple[str, bool]:
    """Return in one sentence why there is no result, and whether the next run would have none.

    It is the exception that was printed; without one, how the process ended.
    """
    text = ""
    for path in sorted(folder.glob("output-*")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MAX_READ_NUM_BYTES))
            text += file.read().decode(errors="replace")
    errors = _exceptions(text)
    if not errors:
        when = "after writing" if is_complete else "without writing"
        return f"{_ended(exit_code)} {when} a result, and printed no exception", False
    # What others say when a rank has gone is not the cause.
    kind, message = next((each for each in errors if "Connection" not in each[0]), errors[0])
    if kind == "NotImplementedError":
        said = f"is not written yet: {message or kind}"
    elif kind == _WRONG:
        said = f"gave a wrong result: {message}"
    else:
        said = f"crashed: {kind}: {message}"
    said = "".join(each if each.isprintable() else " " for each in said[:_MAX_SENTENCE_NUM_CHARS])
    return said, kind in _CERTAIN


def by_reason(missing: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return `a and 2 more` for each reason, with it, of points and the reason of each.

    What was not handed in is known, so it comes last; what went wrong is news.
    """
    names: dict[str, list[str]] = {}
    for name, why in missing:
        names.setdefault(why, []).append(name)
    return [
        (f"{first} and {len(others)} more" if others else first, why)
        for why, (first, *others) in sorted(names.items(), key=lambda each: is_known(each[0]))
    ]


def is_known(why: str) -> bool:
    """Return whether the only reason is a missing file."""
    return why.endswith(NOT_HANDED_IN)


def _ended(exit_code: int) -> str:
    """Return how a process ended that printed no exception."""
    if exit_code == 0:
        return "ended"
    if exit_code > 0:
        return f"ended with exit code {exit_code}"
    return f"was killed by {signal_name(-exit_code)}"


def _exceptions(text: str) -> list[tuple[str, str]]:
    """Return names and messages of the exceptions whose tracebacks were printed."""
    found, is_within = [], False
    for line in text.splitlines():
        bare = _BEFORE.sub("", line)
        if usage := _USAGE.fullmatch(bare):
            found.append(("usage error", usage[1]))
        elif bare == _HEAD:
            is_within = True
        elif is_within and bare and not bare.startswith(" "):
            is_within = False
            match = _ERROR.fullmatch(bare)
            if match:
                found.append((match[1].rpartition(".")[2], match[2] or ""))
    return found


_REPORTS = "GRADER_STUDY_REPORTS"
_TICK_S = 0.02
_MAX_REPORT_NUM_BYTES = 8 << 20
_MAX_OUTPUT_NUM_BYTES = 16 << 20
"""Of a longer output only what comes later is kept: it lies in memory."""


def measure(
    point: Point,
    repeat: int,
    found: Sources,
    *,
    data: str,
    limit_s: float,
    most_s: float = math.inf,
) -> Measurement:
    """Run a point once. Whatever its program does, this comes back soon after its limit."""
    missing = found.missing(point.needs)
    if missing:
        return Measurement(point.name, repeat, (), missing, is_certain=True)
    with workplace(found) as folder:
        exit_code = _run(point, repeat, folder, data, limit_s, most_s)
        if exit_code is None:
            return Measurement(
                point.name, repeat, (), f"did not end within {limit_s:.0f} s", ran_out_of_time=True
            )
        ranks = tuple(_report(folder / "reports" / f"{rank}.json") for rank in range(point.ranks))
        # Programs on several ranks may leave it to the first to report.
        reported = tuple(each for each in ranks if each is not None)
        is_complete = ranks[0] is not None and len(reported) in (1, point.ranks)
        if exit_code or not is_complete:  # what has crashed may have measured half of it
            failure, is_certain = why_failed(folder, exit_code, is_complete)
            return Measurement(point.name, repeat, (), failure, is_certain=is_certain)
        return Measurement(point.name, repeat, reported)


def _run(
    point: Point, repeat: int, folder: Path, data: str, limit_s: float, most_s: float
) -> int | None:
    """Run the processes; return the first exit code that is not 0, None for late ones."""
    environment = _environment(point, repeat, folder, data)
    began_s = time.monotonic()
    delay = RunQueueDelay(len(os.sched_getaffinity(0)))
    processes: list[subprocess.Popen[bytes]] = []
    try:
        is_one = point.launcher is Launcher.MPIRUN
        for rank in range(1 if is_one else point.ranks):
            with (folder / f"output-{rank}").open("ab") as output:
                processes.append(
                    subprocess.Popen(  # noqa: S603 - our own command line
                        _command(point, folder),
                        env=environment if is_one else {**environment, "RANK": str(rank)},
                        cwd=folder / "work",
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )
        while any(process.poll() is None for process in processes):
            if any(process.poll() for process in processes):
                time.sleep(0.5)  # the others may have something to say as well
                break
            if delay.is_due:
                pids = [process.pid for process in processes]
                delay.look({*pids, *(each for pid in pids for each in descendants(pid))})
            if is_late(time.monotonic() - began_s, delay.total_s, limit_s, most_s):
                return None
            for each in folder.glob("output-*"):
                if each.stat().st_size > _MAX_OUTPUT_NUM_BYTES:
                    os.truncate(each, 0)  # who writes goes on at the new end
            time.sleep(_TICK_S)
        return next((process.returncode for process in processes if process.poll()), 0)
    finally:
        # mpirun first, for it would explain at length that its ranks have gone.
        for process in processes:
            process.kill()
            process.wait()
        kill_marked(f"{_REPORTS}={folder / 'reports'}".encode())


def is_late(passed_s: float, run_queue_delay_s: float, limit_s: float, most_s: float) -> bool:
    """Return whether a run has had its time, without what others have kept it waiting."""
    return passed_s > min(limit_s + min(run_queue_delay_s, limit_s), most_s)


def _command(point: Point, folder: Path) -> list[str]:
    """Return how one process is started; a study that is killed leaves none that computes on."""
    cores = os.sched_getaffinity(0)
    program = [sys.executable, "-s", point.program]
    if point.launcher is not Launcher.MPIRUN:
        return [*ending_with_us(cores), *program]
    ranks = [*ending_with_us(cores, parent=0), *program]
    return [*ending_with_us(cores), *mpirun_command(point.ranks, folder / "scratch"), *ranks]


def _environment(point: Point, repeat: int, folder: Path, data: str) -> dict[str, str]:
    ours = {
        **rank_environment(folder / "scratch"),
        _REPORTS: str(folder / "reports"),
        "GRADER_STUDY_SETTINGS": json.dumps({**point.settings, "repeat": repeat}),
        "GRADER_DATA": data,
        "PYTHONDONTWRITEBYTECODE": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(point.ranks),
    }
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, **ours}


def _report(file: Path) -> dict[str, Any] | None:
    """Return what a rank has reported; None where that is nothing, or not a report."""
    try:
        if file.stat().st_size > _MAX_REPORT_NUM_BYTES:
            return None
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
