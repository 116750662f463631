"""Runs one point in processes of its own, under a time limit, and takes what its ranks report."""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from grader.observe.forkserver.processes import descendants
from grader.observe.forkserver.run_queue_delay import DeniedTime
from grader.observe.run_control.machine import ending_with_us, free_port, libraries, mpirun
from grader.observe.run_control.tagged_processes import kill_marked
from grader.study.failure import why_failed
from grader.study.plan import Launcher, Point
from grader.study.results import Measurement
from grader.study.workplace import Sources, workplace

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
    """Run a point once. Whatever its program does, this comes back soon after its limit.

    data: the folder with MNIST or CIFAR-10, or nothing for the bundled digits. limit_s: without
    what other programs have kept it waiting, which is at most so long again. most_s: by the clock.
    """
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
    """Start the processes and wait for them.

    Return the exit code of the first that failed, 0 where none did, None where they were ended for
    being late.
    """
    environment = _environment(point, repeat, folder, data)
    began_s = time.monotonic()
    denied = DeniedTime(len(os.sched_getaffinity(0)))
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(1 if point.launcher is Launcher.MPIRUN else point.ranks):
            with (folder / f"output-{rank}").open("ab") as output:
                processes.append(
                    subprocess.Popen(  # noqa: S603 - our own command line
                        _command(point, folder),
                        env={**environment, **_rank_variables(point, rank)},
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
            if denied.is_due:
                pids = [process.pid for process in processes]
                denied.look({*pids, *(each for pid in pids for each in descendants(pid))})
            if is_late(time.monotonic() - began_s, denied.total_s, limit_s, most_s):
                return None
            _shorten_outputs(folder)
            time.sleep(_TICK_S)
        return next((process.returncode for process in processes if process.poll()), 0)
    finally:
        # mpirun first, for it would explain at length that its ranks have gone.
        for process in processes:
            process.kill()
            process.wait()
        kill_marked(f"{_REPORTS}={folder / 'reports'}".encode())


def is_late(passed_s: float, denied_s: float, limit_s: float, most_s: float) -> bool:
    """Return whether a run has had its time, without what others have kept it waiting.

    That is at most as long again; most_s is by the clock.
    """
    return passed_s > min(limit_s + min(denied_s, limit_s), most_s)


def _shorten_outputs(folder: Path) -> None:
    for output in folder.glob("output-*"):
        if output.stat().st_size > _MAX_OUTPUT_NUM_BYTES:
            os.truncate(output, 0)  # who writes goes on at the new end


def _command(point: Point, folder: Path) -> list[str]:
    """Return how one process is started; a study that is killed leaves none that computes on."""
    cores = os.sched_getaffinity(0)
    program = [sys.executable, "-s", point.program]
    if point.launcher is not Launcher.MPIRUN:
        return [*ending_with_us(cores), *program]
    ranks = [*ending_with_us(cores, parent=0), *program]
    return [*ending_with_us(cores), *_mpirun(point, folder), *ranks]


def _mpirun(point: Point, folder: Path) -> list[str]:
    command = [mpirun(), "--oversubscribe", "--bind-to", "none", "-n", str(point.ranks)]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    options = {
        "pml": "ob1",
        "btl": "self,sm",
        "smsc": "^cma",
        "btl_sm_backing_directory": str(folder / "scratch"),
        # Ranks that wait leave the core to those that compute.
        "mpi_yield_when_idle": "1",
    }
    for name, value in options.items():
        command += ["--mca", name, value]
    return command


def _environment(point: Point, repeat: int, folder: Path, data: str) -> dict[str, str]:
    ours = {
        _REPORTS: str(folder / "reports"),
        "GRADER_STUDY_SETTINGS": json.dumps({**point.settings, "repeat": repeat}),
        "GRADER_DATA": data,
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_LIBRARY_PATH": libraries(mpirun()),
        # One thread a process: otherwise a run time by ranks would compare threads.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "GLOO_SOCKET_IFNAME": "lo",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(point.ranks),
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(folder / "scratch"),
        "TMPDIR": str(folder / "scratch"),
    }
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, **ours}


def _rank_variables(point: Point, rank: int) -> dict[str, str]:
    return {} if point.launcher is Launcher.MPIRUN else {"RANK": str(rank)}


def _report(file: Path) -> dict[str, Any] | None:
    """Return what a rank has reported; None where that is nothing, or not a report."""
    try:
        if file.stat().st_size > _MAX_REPORT_NUM_BYTES:
            return None
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
