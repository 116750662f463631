"""Pipes between judge and forkserver: neither waits for a peer that is gone or does not read."""

import json
import os
import select
import subprocess
import sys
import threading
import time
from unittest import mock

import pytest

from grader.observe.run_control import forkserver_client
from grader.observe.run_control.forkserver_client import (
    Forkserver,
    ForkserverClient,
    RunLost,
    start_forkserver,
)

LIMIT_S = 60
SLOWLY_TAKEN = """
from grader.observe.forkserver.local_sockets import interrupt_waits
from grader.observe.forkserver.serving import _tell

interrupt_waits(0.02)
_tell({"log": "x" * (1 << 21)})
interrupt_waits(0)
"""


@pytest.fixture
def forkserver():
    """Return a forkserver that is ready, with what a judge keeps of it."""
    started = start_forkserver(forkserver_client._environment(), ["numpy"])
    assert select.select([started.stdout], [], [], LIMIT_S)[0]
    assert b"ready" in os.read(started.stdout, 1 << 16)
    yield started
    if started.process.poll() is None:
        started.process.kill()
        started.process.wait()


def test_a_forkserver_whose_judge_has_died_ends_in_order(forkserver):
    """What it has still to tell is told to nobody, which is no reason to fail."""
    os.close(forkserver.stdout)
    os.close(forkserver.stderr)
    forkserver.send(b'{"log": true}\n' * 100)
    os.close(forkserver.stdin)
    assert forkserver.process.wait(LIMIT_S) == 0


@pytest.fixture
def pipe():
    """Return a forkserver that is no process: what is sent stays in the pipe."""
    read, write = os.pipe()
    yield read, Forkserver(mock.Mock(), write, -1, -1)
    os.close(read)
    os.close(write)


def test_who_does_not_read_is_given_up(pipe, monkeypatch):
    """A forkserver that was stopped must not stop the judge as well."""
    monkeypatch.setattr(forkserver_client, "_SEND_LIMIT_S", 0.1)
    _, forkserver = pipe
    with pytest.raises(BrokenPipeError):
        forkserver.send(bytes(1 << 20))


def test_a_message_longer_than_the_pipe_arrives_whole(pipe):
    """The sources of tests are longer than a pipe has room for."""
    read, forkserver = pipe
    message, received = os.urandom(1 << 20), []

    def receive():
        while sum(map(len, received)) < len(message):
            received.append(os.read(read, 1 << 16))

    reader = threading.Thread(target=receive)
    reader.start()
    forkserver.send(message)
    reader.join(LIMIT_S)
    assert b"".join(received) == message


def test_a_signal_does_not_cut_what_the_forkserver_says():
    """It interrupts its writes all the time, and the judge may read slowly."""
    with subprocess.Popen([sys.executable, "-c", SLOWLY_TAKEN], stdout=subprocess.PIPE) as process:
        told = b""
        while piece := os.read(process.stdout.fileno(), 1 << 18):
            told += piece
            time.sleep(0.05)
    assert process.returncode == 0
    assert json.loads(told) == {"log": "x" * (1 << 21)}


def test_what_nobody_can_read_is_no_end_of_the_judge():
    """The run is lost, and tried again, as when the forkserver has died."""
    ends = [os.pipe() for _ in range(3)]
    os.write(ends[1][1], b'{"rank": 0, "sta\n')
    os.close(ends[2][1])
    client = ForkserverClient()
    client._forkserver = Forkserver(mock.Mock(), ends[0][1], ends[1][0], ends[2][0])
    with pytest.raises(RunLost, match="without any output"):
        client.ended()
    os.close(ends[0][0])
    os.close(ends[1][1])
