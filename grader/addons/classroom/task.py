"""Grades one hand-in: a process of its own, on processors of its own, and a result on disk."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.addons.classroom.arrivals import digest_of
from grader.addons.classroom.cores import blocks, cores_here, joined, taken
from grader.addons.classroom.gradings import Gradings, Outcome
from grader.commands.launcher_check import without_launcher
from grader.intake.archives import names
from grader.model.report import NEEDS_REVIEW
from grader.observe.run_control.machine import ending_with_us
from grader.report.safe_text import one_line

_MAX_ERROR_NUM_CHARS = 2000
_WITH_REPORT = (0, 1, 3, NEEDS_REVIEW)


@dataclass(frozen=True)
class Task:
    """One hand-in to grade, as it travels to where it is graded."""

    key: str
    digest: str
    """Of the hand-in."""
    path: str
    """Of the hand-in, where every machine that grades sees it."""
    gradings: str
    """The folder that keeps what comes of it, likewise."""
    arguments: tuple[str, ...]
    """What follows `grade`, without the hand-in and what is made of it."""
    recording: str
    """Of an earlier grading, which is judged again; empty where it is graded."""
    secret_file: str
    """Of the class, likewise; empty where inputs are public."""
    key_file: str
    """Of the key that signs recordings, likewise; empty where nothing is sealed."""
    cores: int
    """Physical ones, that no other grading has meanwhile."""
    memory_num_bytes: int


def grade(task: Task) -> Outcome:
    """Grade a hand-in, unless somebody has; keep what came of it, and return how it ended.

    Called where it is graded, perhaps on another machine. The processors are given to the container
    by name: it inherits none of what we are limited to. Raises OSError where the folder of the
    gradings cannot be written to.
    """
    gradings = Gradings(Path(task.gradings))
    with taken(blocks(cores_here(), task.cores)) as (cpus, locks):
        if gradings.has(task.key):  # by a worker that was lost before it could say so
            return gradings.load(task.key).outcome
        with tempfile.TemporaryDirectory(prefix="grading-") as folder:
            report, made = Path(folder) / "report.json", Path(folder) / "recording.rec"
            recording = Path(task.recording) if task.recording else made
            outcome = _of_what_was_meant(task, _run(task, report, recording, cpus, locks))
            if outcome.is_final:
                content = report.read_bytes() if not outcome.error else None
                recorded = recording.read_bytes() if recording.is_file() else None
                gradings.keep(task.key, outcome, content, recorded)
        return outcome


def _run(
    task: Task, report: Path, recording: Path, cpus: Sequence[int], locks: Sequence[int]
) -> Outcome:
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    started_s = time.monotonic()
    limits = (f"--cpus={joined(cpus)}", f"--memory={task.memory_num_bytes}")
    command = [sys.executable, "-m", "grader", *task.arguments, task.path]
    command += [f"--full-json={report}", *(limits if task.arguments[0] == "run" else ())]
    if task.arguments[0] == "check":
        command.append("--no-recording")  # a copy that nobody would erase with the student
    command.append(f"--recording={recording}")
    ended = subprocess.run(  # noqa: S603 - our own command line
        [*ending_with_us(cpus), *command],
        env=_environment(task),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=locks,
        check=False,
    )
    has_report = ended.returncode in _WITH_REPORT and report.is_file()
    said = nameless(ended.stderr.decode(errors="replace"), task.path)
    # What cannot be judged again may well be graded again.
    exit_code = 3 if task.recording and not has_report else ended.returncode
    return Outcome(
        digest=task.digest,
        exit_code=exit_code,
        error="" if has_report else _reason(said, ended.returncode),
        started_at=started_at,
        wall_time_s=time.monotonic() - started_s,
        cpus=tuple(cpus),
        host=socket.gethostname(),
    )


def _environment(task: Task) -> dict[str, str]:
    """Return ours, with the secret and the key of the class in place of those named here."""
    ours = {"GRADER_SECRET_FILE": task.secret_file, "GRADER_RECORDING_KEY_FILE": task.key_file}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return without_launcher(kept) | {name: file for name, file in ours.items() if file}


def _of_what_was_meant(task: Task, outcome: Outcome) -> Outcome:
    """Return the outcome; none that could be kept where other files were graded meanwhile.

    It is kept by the digest of the files, and would be the mark of whoever hands in those.
    """
    try:
        is_same = digest_of(Path(task.path)) == task.digest
    except (OSError, ValueError):
        is_same = False
    if is_same:
        return outcome
    return replace(outcome, exit_code=3, error="it changed since the command began; start again")


def nameless(said: str, path: str) -> str:
    """Return what was said of a hand-in without where it is kept, and without its name.

    It is told to its author, who need not know the one, and to whoever has handed in the same files
    and may not know the other.
    """
    forms = {path, names.shortened(path)}
    forms |= {one_line(each) for each in forms}
    for form in sorted(forms, key=len, reverse=True):
        said = said.replace(form, "the hand-in")
    return said


def _reason(said: str, exit_code: int) -> str:
    """Return the last sentence of a command that graded nothing."""
    sentences = [line.removeprefix("grade: ") for line in said.splitlines() if line.strip()]
    last = next((line for line in reversed(sentences)), "")[:_MAX_ERROR_NUM_CHARS]
    if exit_code < 0:
        return f"it was killed by {signal.Signals(-exit_code).name}"
    return last or f"it ended with exit code {exit_code} and without a message"
