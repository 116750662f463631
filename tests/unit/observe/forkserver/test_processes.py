"""Finding processes by descent and by user."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.observe.forkserver.memory import _proportional_num_bytes, private_num_bytes
from grader.observe.forkserver.processes import (
    descendants,
    handles,
    is_alive,
    is_below,
    is_running,
    owned_by,
)
from grader.observe.run_control.users import run_uids

DEADLINE_S = 30
NOT_DUMPABLE = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(flush=True); "


def test_a_grandchild_is_a_descendant():
    """Also of ours, and nobody is its own."""
    child = subprocess.Popen(["sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE)
    grandchild = int(child.stdout.readline())
    try:
        assert {child.pid, grandchild} <= set(descendants(os.getpid()))
        assert is_below(grandchild, child.pid) and is_below(grandchild, os.getpid())
        assert not is_below(child.pid, grandchild) and not is_below(child.pid, child.pid)
        assert not is_below(2**30, os.getpid())
    finally:
        os.kill(grandchild, signal.SIGKILL)
        child.wait()
        child.stdout.close()


def test_what_computes_is_told_from_what_sleeps_and_what_handles_a_signal():
    """What does not handle it would be ended by it."""
    before = "import faulthandler, signal, time; faulthandler.register(signal.SIGUSR1); "
    for code, expected in (
        (f"{before}print(flush=True)\nwhile True: pass", (True, True)),
        ("import time; print(flush=True); time.sleep(1000)", (False, False)),
    ):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        try:
            process.stdout.readline()
            wait_until(lambda pid=process.pid, runs=expected[0]: is_running(pid) == runs)
            assert handles(process.pid, signal.SIGUSR1) == expected[1]
            assert not handles(process.pid, signal.SIGUSR2)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        assert not is_running(process.pid) and not handles(process.pid, signal.SIGUSR1)


def test_a_process_lives_as_long_as_any_of_its_threads():
    """Its state is that of the first one. What has ended is found where that is asked for."""
    code = (
        "import ctypes, threading, time; some = bytearray(4 << 20)\n"
        "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
        "print(flush=True); ctypes.CDLL(None).pthread_exit(None)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        wait_until(lambda: state_of(process.pid) == "Z")
        assert process.pid in descendants(os.getpid()) and is_alive(process.pid)
        assert private_num_bytes(process.pid) > 1 << 20
        assert _proportional_num_bytes(process.pid) > 1 << 20
        process.kill()
        wait_until(lambda: process.pid not in descendants(os.getpid()))
        assert process.pid in descendants(os.getpid(), with_ended=True)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert process.pid not in descendants(os.getpid(), with_ended=True)


def wait_until(holds):
    until_s = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.skipif(os.getuid() != 0, reason="starts processes of another user")
def test_a_process_that_may_not_be_looked_into_is_found_by_its_user():
    """Most of its files in /proc are root's; its status tells everybody who it is."""
    uid = next(run_uids())
    python = "/usr/bin/python3"
    process = subprocess.Popen(
        [python, "-c", NOT_DUMPABLE + "time.sleep(1000)"],
        user=uid,
        group=uid,
        extra_groups=[],
        stdout=subprocess.PIPE,
        cwd="/",
    )
    try:
        process.stdout.readline()
        assert Path(f"/proc/{process.pid}/environ").stat().st_uid == 0
        assert owned_by([uid]) == [process.pid]
        assert owned_by([uid + 1]) == []
    finally:
        process.kill()
        until_s = time.monotonic() + DEADLINE_S
        while owned_by([uid]) and time.monotonic() < until_s:
            time.sleep(0.01)
        assert owned_by([uid]) == [], "a process that has ended does not count"
        process.wait()
        process.stdout.close()
