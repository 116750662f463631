"""Which processes show themselves is what the kernel says of them."""

import os
import select
import socket
import subprocess
import sys
import threading

import pytest

from grader.runner.zygote.attendance import Attendance

SHOWS_ITSELF = """
import os, socket, sys
for _ in range(int(sys.argv[2])):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    assert connection.recv(1) == b""
os.write(1, b"seen")
sys.stdin.read()
"""


@pytest.fixture
def door(tmp_path):
    made = Attendance(tmp_path / "witness.sock", os.getuid())
    yield made
    made.close()


def start(door: Attendance, times: int = 1) -> subprocess.Popen[bytes]:
    """Start a process that shows itself `times` times; return when it has been counted."""
    command = [sys.executable, "-I", "-S", "-c", SHOWS_ITSELF, door.listener.getsockname()]
    process = subprocess.Popen(
        [*command, str(times)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    while not select.select([process.stdout], [], [], 0.001)[0]:
        door.attend()
    assert process.stdout.read(4) == b"seen"
    return process


def finish(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        process.communicate()
        assert process.returncode == 0


def test_processes_that_live_together_are_told_from_those_that_do_not(door):
    """Two at once, then another one: a process that has ended is there no more."""
    finish(start(door), start(door))
    assert door.take() == {"seen": 2, "at_once": 2}
    finish(start(door))
    finish(start(door))
    assert door.take() == {"seen": 2, "at_once": 1}


def test_a_process_that_has_ended_does_not_count_before_anybody_waits_for_it(door):
    """A zombie trains nothing."""
    first = start(door)
    first.stdin.close()
    assert first.stdout.read() == b""
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    second = start(door)
    finish(second)
    first.wait()
    first.stdout.close()
    assert door.take() == {"seen": 2, "at_once": 1}


def test_one_process_is_one_however_often_and_in_how_many_threads_it_comes(door):
    """It cannot connect under another process's number."""
    finish(start(door, times=5))

    def come() -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(door.listener.getsockname())

    threads = [threading.Thread(target=come) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert door.take() == {"seen": 2, "at_once": 1}
    assert door.take() == {"seen": 0, "at_once": 0}


def test_who_came_before_somebody_asks_is_counted(door):
    """Nobody has to have looked in between."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(door.listener.getsockname())
    assert door.take() == {"seen": 1, "at_once": 1}


def test_a_stranger_is_not_counted(tmp_path):
    """Only processes of the run's user are."""
    door = Attendance(tmp_path / "witness.sock", os.getuid() + 1)
    finish(start(door))
    assert door.take() == {"seen": 0, "at_once": 0}
    door.close()
