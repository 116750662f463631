"""Attempts on files: to read the grader's, to write where nobody should, to outgrow limits."""

import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

_EVERYBODYS = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")  # noqa: S108 - tried
_LIMITS = {"NPROC": 1 << 14, "NOFILE": 1 << 20, "FSIZE": 1 << 40, "DATA": 1 << 42, "CORE": 0}
"""What is as good as no limit lies above."""


def try_reading_files(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """The grader's files cannot be read."""
    for path in target["material"]:
        yield f"list {path}", partial(os.listdir, path)
        yield f"read {path}", partial(_read, path)


def try_writing_files(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Nothing but the run's own folders can be written."""
    for folder in target["read_only"]:
        yield f"write into {folder}", partial(_write, f"{folder}/written-by-a-rank")
    yield "change a password", partial(_append, "/etc/passwd")
    for group in ("", "pids/", "memory/"):
        yield f"leave the {group}group", partial(_append, f"/sys/fs/cgroup/{group}cgroup.procs")
    yield "change the kernel's settings", partial(_append, "/proc/sys/kernel/core_pattern")


def try_running_from_tmp(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Programs that a submission writes do not run."""
    for folder in ("/tmp", target["scratch"]):  # noqa: S108 - tried
        yield f"run a program in {folder}", partial(_run_own_program, folder)


def try_growing_files(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """A file cannot grow beyond its limit."""
    yield "grow a file", partial(_grow, f"{target['scratch']}/large")


def try_raising_limits(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every limit of a process is finite and cannot be raised."""
    for name, most in _LIMITS.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        yield f"raise RLIMIT_{name}", partial(_raise_limit, kind, most)
    yield "raise its priority", partial(os.nice, -1)
    real_time = partial(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
    yield "run in real time", real_time


def leave_files() -> list[str]:
    """Leave a file wherever everybody may write; return those left."""
    left = []
    for folder in _EVERYBODYS:
        path = f"{folder}/left-by-a-rank-{os.getpid()}"
        try:
            _write(path)
        except OSError:
            continue
        left.append(path)
    return left


def _read(path: str) -> None:
    with open(path, "rb") as file:  # noqa: PTH123 - the plainest way
        file.read(1)


def _write(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _append(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND))


def _run_own_program(folder: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as own:
        program = Path(own) / "program"
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
        subprocess.run([program], check=False)  # noqa: S603 - written two lines above


def _grow(path: str) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    with open(path, "wb") as file:  # noqa: PTH123 - the plainest way
        try:
            file.truncate(limit + 1 if limit >= 0 else 1 << 40)
        finally:
            Path(path).unlink()


def _raise_limit(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    # What is unlimited already needs no raising.
    if hard != resource.RLIM_INFINITY and hard <= most:
        resource.setrlimit(kind, (hard, hard + 1))
