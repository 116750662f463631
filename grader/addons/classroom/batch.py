"""Grades ungraded hand-ins in parallel: on this machine, or on a cluster through Parsl.

Each hand-in has its own process, on cores that no other grading uses.
"""

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from grader.addons.classroom.arrivals import digest_of
from grader.addons.classroom.cores import blocks, cores_here, taken
from grader.addons.classroom.gradings import Gradings, Outcome, with_times_of
from grader.addons.classroom.tables import read_settings
from grader.commands.launcher_check import without_launcher
from grader.intake import process as intake
from grader.intake.answer import signal_name
from grader.intake.archives import names
from grader.model.errors import INTERRUPTED, GraderError, UsageError
from grader.model.report import NEEDS_REVIEW
from grader.observe.forkserver.processes import descendants
from grader.observe.run_control.machine import ending_with_us
from grader.report.safe_text import one_line

_TELL_EVERY_S = 60.0
_NUM_RETRIES = 3
"""Of a grading whose worker was lost."""
_HEARTBEAT_S = 5
_LOST_AFTER_S = 30
PROVIDERS = {
    "local": "LocalProvider",
    "slurm": "SlurmProvider",
    "pbs": "PBSProProvider",
    "torque": "TorqueProvider",
    "lsf": "LSFProvider",
    "gridengine": "GridEngineProvider",
    "condor": "CondorProvider",
}
"""Parsl's names for what submits to each kind of cluster."""
_MAX_ERROR_NUM_CHARS = 2000
_WITH_REPORT = (0, 1, 3, NEEDS_REVIEW)
Text = Annotated[str, Meta(description="a string")]
ClusterKind = Annotated[
    str,
    Meta(pattern=rf"\A({'|'.join(PROVIDERS)})\Z", description=f"one of: {', '.join(PROVIDERS)}"),
]
Option = bool | int | float | str | list[Any] | dict[str, Any]
Options = Annotated[dict[str, Option], Meta(description="a table")]


class Cluster(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a cluster is reached: the TOML file that --cluster names."""

    kind: ClusterKind
    address: Text = ""
    """Of this machine, as the nodes know it; empty to let Parsl find out."""
    provider: Options = field(default_factory=dict)
    """Options of Parsl's provider."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One hand-in to grade, as it is sent to the machine that grades it."""

    key: str
    digest: str
    """Of the hand-in."""
    path: str
    """Of the hand-in, where every machine that grades sees it."""
    gradings: str
    """The folder that keeps the results, likewise."""
    arguments: tuple[str, ...]
    """What follows `grade`, without the hand-in and the files to write."""
    recording: str = ""
    """Of an earlier grading, which is judged again; empty where it is graded."""
    secret_file: str = ""
    """Of the class, likewise; empty where inputs are public."""
    key_file: str = ""
    """Of the key that signs recordings, likewise; empty where nothing is sealed."""
    cores: int
    """Physical cores, which no other grading uses meanwhile."""
    memory_num_bytes: int


Submit = Callable[[Task], "Future[Outcome]"]


def grade_all(
    tasks: Sequence[Task], labels: Mapping[str, str], submit: Submit, say: Callable[[str], None]
) -> dict[str, str]:
    """Grade each; return why some gradings were not kept, by the digests of hand-ins.

    labels: of hand-ins, likewise. say: is called at each end, and once a minute with the progress.
    Raises GraderError when it is interrupted.
    """
    started_s = time.monotonic()
    left = {submit(task): task for task in tasks}
    problems = {}
    try:
        while left:
            ended, _ = wait(left, timeout=_TELL_EVERY_S, return_when=FIRST_COMPLETED)
            for future in ended:
                task = left.pop(future)
                told, problem = _result(future)
                say(f"{_progress(len(tasks), len(left), started_s)}: {labels[task.digest]}, {told}")
                if problem:
                    problems[task.digest] = problem
            if not ended:
                say(_progress(len(tasks), len(left), started_s))
    except KeyboardInterrupt:
        done = f"{len(tasks) - len(left)} of {len(tasks)} graded"
        raise GraderError(
            f"{INTERRUPTED}: {done}; run the same command again to continue"
        ) from None
    return problems


def _progress(num_tasks: int, num_left: int, started_s: float) -> str:
    """Return how many are graded, and estimate how long the others take."""
    num_done = num_tasks - num_left
    words = f"{num_done} of {num_tasks}"
    if not (num_done and num_left):
        return words
    minutes = round((time.monotonic() - started_s) / num_done * num_left / 60)
    if minutes >= 90:
        return f"{words}, about {minutes / 60:.1f} h left"
    return f"{words}, {f'about {minutes} min' if minutes else 'less than a minute'} left"


def _result(future: "Future[Outcome]") -> tuple[str, str]:
    """Return how a grading ended, in words, and why it was not kept; empty if it was."""
    error = future.exception()
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        raise error
    if error is not None:  # however often it was tried
        lost = f"{type(error).__name__}: {error}"
        return f"not graded: {lost}", lost
    outcome = future.result()
    took = f"{outcome.wall_time_s:.0f} s"
    if not outcome.error:
        return took, ""
    if outcome.is_final:
        return f"{took}, cannot be graded: {outcome.error}", ""
    return f"{took}, not graded: {outcome.error}", outcome.error


@contextlib.contextmanager
def on_this_machine(num_jobs: int) -> Iterator[Submit]:
    """Yield a function that takes a task and returns its future. num_jobs: how many run at once."""
    pool, ended = ThreadPoolExecutor(num_jobs), threading.Event()
    try:
        yield lambda task: pool.submit(grade, task, ended)
    except BaseException:
        # Gradings that wait for cores must not take the cores of killed ones.
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        raise
    finally:
        pool.shutdown()


@contextlib.contextmanager
def on_cluster(file: Path, cores: int, memory_num_bytes: int, folder: Path) -> Iterator[Submit]:
    """Yield a function that takes a task and returns its future; a node of a cluster grades it.

    file: describes the cluster. cores, memory_num_bytes: of each grading. folder: for Parsl's
    files. Raises UsageError if the file, or its options for Parsl's provider, are invalid.
    """
    cluster = read_settings(file, Cluster, lambda _: ())
    import parsl

    config = parsl.Config(
        executors=[_executor(cluster, file, cores, memory_num_bytes, folder)],
        retries=_NUM_RETRIES,
        run_dir=str(folder),
        strategy="simple",
        exit_mode="skip",
    )
    folder.mkdir(parents=True, exist_ok=True)
    kernel = parsl.load(config)
    try:
        yield parsl.python_app(grade, data_flow_kernel=kernel)
    finally:
        kernel.cleanup()
        parsl.clear()


def _executor(cluster: Cluster, file: Path, cores: int, memory_num_bytes: int, folder: Path) -> Any:
    """Return workers on the nodes of a cluster, one for each grading that has room on a node."""
    import parsl.providers
    from parsl.executors import HighThroughputExecutor
    from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD
    from parsl.launchers import SrunLauncher

    options: dict[str, Any] = dict(cluster.provider)
    if cluster.kind == "slurm" and options.get("nodes_per_block", 1) != 1:
        options["launcher"] = SrunLauncher()
    name = PROVIDERS[cluster.kind]
    try:
        provider = getattr(parsl.providers, name)(**options)
    except TypeError as error:
        reason = str(error).partition(" ")[2]
        raise UsageError(
            f"{file}: [provider] does not match Parsl's {name}: {reason}; see {name} in Parsl's "
            "documentation"
        ) from None
    # Not by a name on the PATH: nodes have this same Python at the same path.
    package = f"{shlex.quote(sys.executable)} -m parsl.executors.high_throughput"
    return HighThroughputExecutor(
        label=cluster.kind,
        launch_cmd=DEFAULT_LAUNCH_CMD.replace(
            "process_worker_pool.py", f"{package}.process_worker_pool"
        ),
        interchange_launch_cmd=shlex.split(f"{package}.interchange"),
        provider=provider,
        address=cluster.address or None,
        cores_per_worker=cores,
        mem_per_worker=memory_num_bytes / (1 << 30),
        # Locks on the node decide which cores a grading gets: see `taken`.
        cpu_affinity="none",
        heartbeat_period=_HEARTBEAT_S,
        heartbeat_threshold=_LOST_AFTER_S,
        worker_logdir_root=str(folder),
    )


def grade(task: Task, ended: threading.Event | None = None) -> Outcome:
    """Grade a hand-in unless that is already done; keep the result, and return how it ended.

    Runs where the hand-in is graded, perhaps on another machine. The container gets the processors
    by name, because it does not inherit our limits. Raises OSError if the folder of the gradings
    cannot be written to, GraderError if the command has ended meanwhile.
    """
    gradings = Gradings(Path(task.gradings))
    if not task.recording and (outcome := _of_empty(task)) is not None:
        gradings.keep(task.key, outcome, None)
        return outcome
    with taken(blocks(cores_here(), task.cores), ended) as (cpus, locks):
        if gradings.has(task.key):  # by a worker that was lost before it could say so
            return gradings.load(task.key).outcome
        with tempfile.TemporaryDirectory(prefix="grading-") as folder:
            report, made = Path(folder) / "report.json", Path(folder) / "recording.rec"
            recording = Path(task.recording) if task.recording else made
            outcome = _of_what_was_meant(task, _run(task, report, recording, cpus, locks))
            if outcome.is_final:
                content = report.read_bytes() if not outcome.error else None
                recorded = recording.read_bytes() if recording.is_file() else None
                if content and task.recording:
                    content = with_times_of(recording, content)
                gradings.keep(task.key, outcome, content, recorded)
        return outcome


def _of_empty(task: Task) -> Outcome | None:
    """Return the outcome of an empty hand-in, without a container; None for any other."""
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    said = ""
    try:
        intake.read(Path(task.path), ())
    except UsageError as error:
        said = nameless(str(error), task.path)
    except GraderError:
        return None
    outcome = Outcome(task.digest, 2, said, started_at, 0.0, (), socket.gethostname())
    # A hand-in that changed meanwhile is graded normally, and reported as changed.
    return outcome if _of_what_was_meant(task, outcome).is_empty else None


def _run(
    task: Task, report: Path, recording: Path, cpus: Sequence[int], locks: Sequence[int]
) -> Outcome:
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    started_s = time.monotonic()
    command = [*ending_with_us(cpus), sys.executable, "-m", "grader", *task.arguments, task.path]
    command += [f"--full-json={report}", f"--recording={recording}"]
    if task.arguments[0] == "run":
        command += [f"--cpus={','.join(map(str, cpus))}", f"--memory={task.memory_num_bytes}"]
    if task.arguments[0] == "check":
        command.append("--no-recording")  # a copy that nobody would erase with the student
    ended = subprocess.run(  # noqa: S603 - our own command line
        command,
        env=_environment(task),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=locks,
        check=False,
    )
    has_report = ended.returncode in _WITH_REPORT and report.is_file()
    said = nameless(ended.stderr.decode(errors="replace"), task.path)
    return Outcome(
        digest=task.digest,
        # If it cannot be judged again, it may still be graded again.
        exit_code=3 if task.recording and not has_report else ended.returncode,
        error="" if has_report else _reason(said, ended.returncode),
        started_at=started_at,
        wall_time_s=time.monotonic() - started_s,
        cpus=tuple(cpus),
        host=socket.gethostname(),
    )


def _environment(task: Task) -> dict[str, str]:
    """Return our environment, with the secret and the key of the class."""
    ours = {"GRADER_SECRET_FILE": task.secret_file, "GRADER_RECORDING_KEY_FILE": task.key_file}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return without_launcher(kept) | {name: file for name, file in ours.items() if file}


def _of_what_was_meant(task: Task, outcome: Outcome) -> Outcome:
    """Return the outcome, or one that is not kept if the files have changed meanwhile.

    Outcomes are kept by the digest of the files, and would give others a wrong mark.
    """
    try:
        is_same = digest_of(Path(task.path)) == task.digest
    except (OSError, ValueError):
        is_same = False
    if is_same:
        return outcome
    changed = "the hand-in has changed since the command began; run `grade class` again"
    return replace(outcome, exit_code=3, error=changed)


def nameless(said: str, path: str) -> str:
    """Return a message about a hand-in without its path and its name.

    Its author need not know where it is kept, and others who handed in the same files must not
    learn its name.
    """
    forms = {path, names.shortened(path)}
    forms |= {one_line(each) for each in forms}
    for form in sorted(forms, key=len, reverse=True):
        said = said.replace(form, "the hand-in")
    return said


def _reason(said: str, exit_code: int) -> str:
    """Return the last sentence of a command that graded nothing."""
    sentences = [line.removeprefix("grade: ") for line in said.splitlines() if line.strip()]
    if exit_code < 0:
        return f"the grading was killed by {signal_name(-exit_code)}"
    if not sentences:
        return f"the grading ended with exit code {exit_code} and no message"
    return sentences[-1][:_MAX_ERROR_NUM_CHARS]
