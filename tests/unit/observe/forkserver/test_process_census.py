"""Which processes show themselves, and which of them speaks, is what the kernel says of them."""

import multiprocessing
import os
import select
import socket
import subprocess
import sys
import threading

import pytest

from grader.observe.forkserver import process_census
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
    assert census.drain() == {"said": [[], []], "at_once": 2}
    finish(start(census))
    finish(start(census))
    assert census.drain() == {"said": [[], []], "at_once": 1}


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
    assert census.drain() == {"said": [[], []], "at_once": 1}


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
    assert census.drain() == {"said": [[], []], "at_once": 1}
    assert census.drain() == {"said": [], "at_once": 0}


def test_who_came_before_somebody_asks_is_counted(census):
    """Nobody has to have looked in between."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(census.listener.getsockname())
    assert census.drain() == {"said": [[]], "at_once": 1}


def say(path: str, name: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.bind(b"\0" + name)
        connection.connect(path)


def test_what_each_process_says_is_its_own(census, monkeypatch):
    """In its order, if it is a short text, and only so much of all; it need not wait for us."""
    monkeypatch.setattr(process_census, "_MAX_SAID", 4)
    path, own = census.listener.getsockname(), f"{os.getpid()} ".encode()
    for name in (b"one", b"\xff", b"\n", os.urandom(100), bytes(99), b"x" * 65, b"two"):
        say(path, own + name if len(name) < 65 else name)
    other = multiprocessing.get_context("fork").Process(target=say, args=(path, own + b"other"))
    other.start()
    other.join()
    for name in (b"x" * 64, b"too much"):
        say(path, name)
    mine = own.decode()
    said = [[f"{mine}one", f"{mine}two", "x" * 64], [f"{mine}other"]]
    assert census.drain() == {"said": said, "at_once": 1}


def test_a_stranger_is_not_counted(tmp_path):
    """Only processes of the run's user are."""
    census = ProcessCensus(tmp_path / "census.sock", [os.getuid() + 1])
    finish(start(census))
    assert census.drain() == {"said": [], "at_once": 0}
    census.close()


def test_who_has_nothing_to_show_cannot_connect(tmp_path):
    """Not even by mode: in a run of several ranks a full queue would tell something."""
    made = ProcessCensus(tmp_path / "closed.sock", [os.getuid()], is_open=False)
    made.close()
    assert (tmp_path / "closed.sock").stat().st_mode & 0o777 == 0o600
