"""Grades what is not graded yet, side by side: on this machine, or on a cluster through Parsl."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from grader.addons.classroom import grading_task
from grader.addons.classroom.grading_task import Task
from grader.addons.classroom.gradings import Outcome
from grader.addons.classroom.tables import read_settings
from grader.model.errors import UsageError
from grader.observe.forkserver.processes import descendants

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
Submit = Callable[[Task], "Future[Outcome]"]
Text = Annotated[str, Meta(description="a text")]
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


def grade_all(
    tasks: Sequence[Task], labels: Mapping[str, str], submit: Submit, say: Callable[[str], None]
) -> dict[str, str]:
    """Grade each; return why some have no grading that is kept, by their keys.

    labels: of hand-ins, by key. say: is told of each end, and once a minute how far it is.
    """
    started_s = time.monotonic()
    left = {submit(task): task for task in tasks}
    problems = {}
    while left:
        ended, _ = wait(left, timeout=_TELL_EVERY_S, return_when=FIRST_COMPLETED)
        for future in ended:
            task = left.pop(future)
            told, problem = _result(future)
            say(f"{_progress(len(tasks), len(left), started_s)}: {labels[task.key]}, {told}")
            if problem:
                problems[task.key] = problem
        if not ended:
            say(_progress(len(tasks), len(left), started_s))
    return problems


def _progress(num_tasks: int, num_left: int, started_s: float) -> str:
    """Return how many are graded, and how long the others take if they are like these."""
    num_done = num_tasks - num_left
    words = f"{num_done} of {num_tasks}"
    if not (num_done and num_left):
        return words
    minutes = round((time.monotonic() - started_s) / num_done * num_left / 60)
    if minutes >= 90:
        return f"{words}, about {minutes / 60:.1f} h left"
    return f"{words}, {f'about {minutes} min' if minutes else 'less than a minute'} left"


def _result(future: "Future[Outcome]") -> tuple[str, str]:
    """Return what is said of how a grading ended, and why none is kept; empty where one is."""
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


@contextmanager
def on_this_machine(num_jobs: int) -> Iterator[Submit]:
    """Yield what takes a task and returns its future. num_jobs: how many go on at once."""
    pool = ThreadPoolExecutor(num_jobs)
    try:
        yield lambda task: pool.submit(grading_task.grade, task)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for pid in descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        raise
    finally:
        pool.shutdown()


@contextmanager
def on_cluster(file: Path, cores: int, memory_num_bytes: int, folder: Path) -> Iterator[Submit]:
    """Yield what takes a task and returns its future, which nodes of a cluster grade.

    file: says how it is reached. cores, memory_num_bytes: of each grading. folder: for what Parsl
    writes. Raises UsageError where the file, or its options of Parsl's provider, cannot be right.
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
        yield parsl.python_app(grading_task.grade, data_flow_kernel=kernel)
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
            f"{file}: [provider] does not fit Parsl's {name}: {reason}; see Parsl's documentation "
            "of it"
        ) from None
    # Not by names on a PATH: the same Python, which nodes see at the same place.
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
        # Which cores are a grading's is settled by locks on its node: see grading_task.py.
        cpu_affinity="none",
        heartbeat_period=_HEARTBEAT_S,
        heartbeat_threshold=_LOST_AFTER_S,
        worker_logdir_root=str(folder),
    )
