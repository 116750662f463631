"""No process of a grading survives it, however the judge ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HANGING_RING = """
import time
def ringallreduce(send, recv, comm, op):
    time.sleep(1000)
"""
DEADLINE_S = 60


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_survives_the_judge(tmp_path, how):
    """Killed in the middle of a run, the judge leaves no process and no file."""
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    source = HANGING_RING + f"# {mark}\n"
    (tmp_path / "my_ring_allreduce.py").write_text(source)
    judge = subprocess.Popen(
        [sys.executable, "-m", "grader", "check", str(tmp_path), "--part", "ring_allreduce"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    folder = _wait_for(lambda: _run_folder_with(mark), judge)
    _wait_for(lambda: len(_processes_using(folder)) >= 3, judge)
    judge.send_signal(how)
    judge.wait(DEADLINE_S)
    _wait_for(lambda: not _processes_using(folder) and not folder.exists())


def _wait_for(found, judge=None):
    until_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < until_s:
        value = found()
        if value:
            return value
        assert judge is None or judge.poll() is None, "the judge ended too early"
        time.sleep(0.005)
    raise AssertionError("waited in vain")


def _run_folder_with(mark: str) -> Path | None:
    for folder in Path("/dev/shm").glob("grader-*"):
        try:
            if mark in (folder / "submission" / "my_ring_allreduce.py").read_text():
                return folder
        except OSError:
            continue
    return None


def _processes_using(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                named = str(folder).encode() in (entry / "cmdline").read_bytes()
                # A forked rank has the command line of what it was forked from.
                if named or str((entry / "cwd").readlink()).startswith(str(folder)):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
