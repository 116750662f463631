"""Runs one point in processes of its own, under a time limit, and takes what its ranks report."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from grader.runner.machine import free_port, libraries, mpirun
from grader.runner.marked import kill_marked
from grader.study.plan import Launcher, Point
from grader.study.results import Measurement
from grader.study.workplace import Sources, workplace

_REPORTS = "GRADER_STUDY_REPORTS"
_TICK_S = 0.02
_MAX_REPORT_NUM_BYTES = 8 << 20
_MAX_OUTPUT_NUM_BYTES = 1 << 16
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


def measure(point: Point, repeat: int, found: Sources, *, data: str, limit_s: float) -> Measurement:
    """Run a point once. Whatever its program does, this comes back soon after limit_s.

    data: the folder with MNIST or CIFAR-10, or nothing for the bundled digits.
    """
    missing = found.missing(point.needs)
    if missing:
        return Measurement(point.name, repeat, (), missing, is_certain=True)
    with workplace(found) as folder:
        exit_code = _run(point, repeat, folder, data, limit_s)
        if exit_code is None:
            return Measurement(
                point.name, repeat, (), f"did not end within {limit_s:.0f} s", ran_out_of_time=True
            )
        ranks = tuple(_report(folder / "reports" / f"{rank}.json") for rank in range(point.ranks))
        # Programs on several ranks may leave it to the first to report.
        reported = tuple(each for each in ranks if each is not None)
        is_complete = ranks[0] is not None and len(reported) in (1, point.ranks)
        if exit_code or not is_complete:  # what has crashed may have measured half of it
            failure, is_certain = _failure(folder, exit_code, is_complete)
            return Measurement(point.name, repeat, (), failure, is_certain=is_certain)
        return Measurement(point.name, repeat, reported)


def _run(point: Point, repeat: int, folder: Path, data: str, limit_s: float) -> int | None:
    """Start the processes and wait for them.

    Return the exit code of the first that failed, 0 where none did, None where they were ended for
    being late.
    """
    environment = _environment(point, repeat, folder, data)
    command = [sys.executable, "-s", point.program]
    until_s = time.monotonic() + limit_s
    processes = []
    try:
        for rank in range(1 if point.launcher is Launcher.MPIRUN else point.ranks):
            with (folder / f"output-{rank}").open("wb") as output:
                processes.append(
                    subprocess.Popen(  # noqa: S603 - our own command line
                        [*(_mpirun(point, folder)), *command],
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
            if time.monotonic() > until_s:
                return None
            time.sleep(_TICK_S)
        return next((process.returncode for process in processes if process.poll()), 0)
    finally:
        # mpirun first, for it would explain at length that its ranks have gone.
        for process in processes:
            process.kill()
            process.wait()
        kill_marked(f"{_REPORTS}={folder / 'reports'}".encode())


def _mpirun(point: Point, folder: Path) -> list[str]:
    if point.launcher is not Launcher.MPIRUN:
        return []
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


def _failure(folder: Path, exit_code: int, is_complete: bool) -> tuple[str, bool]:
    """Return in one sentence why there is no result, and whether there would be none next time.

    It is the exception that was printed; without one, how the process ended.
    """
    text = ""
    for path in sorted(folder.glob("output-*")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MAX_OUTPUT_NUM_BYTES))
            text += file.read().decode(errors="replace")
    errors = _exceptions(text)
    if not errors:
        when = "after" if is_complete else "without"
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


def _ended(exit_code: int) -> str:
    """Return how a process ended that printed no exception."""
    if exit_code == 0:
        return "ended"
    if exit_code > 0:
        return f"ended with exit code {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was ended by signal {-exit_code}"


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
