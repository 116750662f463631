"""Where gradings are done: beside us, or on a cluster that Parsl reaches."""

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from grader.addons.classroom import task
from grader.addons.classroom.cluster_file import Cluster
from grader.addons.classroom.gradings import Outcome
from grader.addons.classroom.task import Task
from grader.model.errors import GraderError, UsageError
from grader.observe.forkserver.processes import descendants

_NUM_RETRIES = 3
"""Of a grading whose worker was lost."""
_HEARTBEAT_S = 5
_LOST_AFTER_S = 30
Submit = Callable[[Task], "Future[Outcome]"]


@contextmanager
def running(cluster: Cluster | None, num_jobs: int, memory: int, folder: Path) -> Iterator[Submit]:
    """Yield what takes a task and returns its future.

    cluster: None for this machine. num_jobs: how many gradings go on at once here; on a cluster it
    follows from its nodes. memory: bytes that a grading may use. folder: for what Parsl writes.
    Raises UsageError where the cluster's options are not those of Parsl's provider.
    """
    import parsl

    stopping = threading.Event()
    executor = _here(num_jobs) if cluster is None else _elsewhere(cluster, memory, folder)
    config = parsl.Config(
        executors=[executor],
        retries=_NUM_RETRIES,
        run_dir=str(folder),
        strategy="simple" if cluster is not None else None,
        exit_mode="skip",
        initialize_logging=cluster is not None,
    )
    with suppress(FileExistsError):
        folder.mkdir(parents=True)
    kernel = parsl.load(config)
    grade = partial(_grade_unless, stopping) if cluster is None else task.grade
    app = parsl.python_app(grade, data_flow_kernel=kernel)
    try:
        yield app
    except BaseException:
        stopping.set()
        for pid in descendants(os.getpid()) if cluster is None else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        raise
    finally:
        kernel.cleanup()
        parsl.clear()


def _grade_unless(stopping: threading.Event, each: Task) -> Outcome:
    """Grade, as long as nobody has ended the command: what waits is not begun then."""
    if stopping.is_set():
        raise GraderError("the command has ended")
    return task.grade(each)


def _here(num_jobs: int) -> Any:
    from parsl.executors import ThreadPoolExecutor

    return ThreadPoolExecutor(label="here", max_threads=num_jobs)


def _elsewhere(cluster: Cluster, memory: int, folder: Path) -> Any:
    """Return workers on the nodes of a cluster, one for each grading that has room on a node."""
    import parsl.providers
    from parsl.executors import HighThroughputExecutor
    from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD
    from parsl.launchers import SrunLauncher

    options: dict[str, Any] = dict(cluster.provider)
    if cluster.kind == "slurm" and options.get("nodes_per_block", 1) != 1:
        options["launcher"] = SrunLauncher()
    try:
        provider = getattr(parsl.providers, cluster.provider_name)(**options)
    except TypeError as error:
        reason = str(error).partition(" ")[2]
        raise UsageError(
            f"{cluster.file}: [provider] does not fit Parsl's {cluster.provider_name}: "
            f"{reason}; see Parsl's documentation of it"
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
        cores_per_worker=cluster.cores,
        mem_per_worker=memory / (1 << 30),
        # Which cores are a grading's is settled by locks on its node: see cores.py.
        cpu_affinity="none",
        heartbeat_period=_HEARTBEAT_S,
        heartbeat_threshold=_LOST_AFTER_S,
        worker_logdir_root=str(folder),
    )
