"""Which processes show themselves is what the kernel says of them."""

import os
import select
import socket
import subprocess
import sys
import threading

import pytest

from grader.observe.forkserver.process_census import ProcessCensus

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
def census(tmp_path):
    made = ProcessCensus(tmp_path / "census.sock", [os.getuid()])
    yield made
    made.close()


def start(census: ProcessCensus, times: int = 1) -> subprocess.Popen[bytes]:
    """Start a process that shows itself `times` times; return when it has been counted."""
    command = [sys.executable, "-I", "-S", "-c", SHOWS_ITSELF, census.listener.getsockname()]
    process = subprocess.Popen(
        [*command, str(times)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    while not select.select([process.stdout], [], [], 0.001)[0]:
        census.count_waiting()
    assert process.stdout.read(4) == b"seen"
    return process


def finish(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        process.communicate()
        assert process.returncode == 0


def test_processes_that_live_together_are_told_from_those_that_do_not(census):
    """Two at once, then another one: a process that has ended is there no more."""
    finish(start(census), start(census))
    assert census.drain() == {"seen": 2, "at_once": 2}
    finish(start(census))
    finish(start(census))
    assert census.drain() == {"seen": 2, "at_once": 1}


def test_a_process_that_has_ended_does_not_count_before_anybody_waits_for_it(census):
    """A zombie trains nothing."""
    first = start(census)
    first.stdin.close()
    assert first.stdout.read() == b""
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    second = start(census)
    finish(second)
    first.wait()
    first.stdout.close()
    assert census.drain() == {"seen": 2, "at_once": 1}


def test_one_process_is_one_however_often_and_in_how_many_threads_it_comes(census):
    """It cannot connect under another process's number."""
    finish(start(census, times=5))

    def come() -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(census.listener.getsockname())

    threads = [threading.Thread(target=come) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert census.drain() == {"seen": 2, "at_once": 1}
    assert census.drain() == {"seen": 0, "at_once": 0}


def test_who_came_before_somebody_asks_is_counted(census):
    """Nobody has to have looked in between."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(census.listener.getsockname())
    assert census.drain() == {"seen": 1, "at_once": 1}


def test_a_stranger_is_not_counted(tmp_path):
    """Only processes of the run's user are."""
    census = ProcessCensus(tmp_path / "census.sock", [os.getuid() + 1])
    finish(start(census))
    assert census.drain() == {"seen": 0, "at_once": 0}
    census.close()


def test_who_has_nothing_to_show_cannot_connect(tmp_path):
    """Not even by mode: in a run of several ranks a full queue would tell something."""
    made = ProcessCensus(tmp_path / "closed.sock", [os.getuid()], is_open=False)
    made.close()
    assert (tmp_path / "closed.sock").stat().st_mode & 0o777 == 0o600
