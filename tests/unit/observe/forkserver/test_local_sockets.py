"""No descriptor that a submission sends along keeps the judge, or the forkserver, from its work."""

import ctypes
import multiprocessing
import os
import signal
import socket
import struct
import threading
import time

import pytest

from grader.observe.forkserver import local_sockets, process_census
from grader.observe.forkserver.local_sockets import interrupt_waits, refuse_descriptors
from grader.observe.forkserver.mpirun_placeholders import PlaceholderRegistry
from grader.observe.forkserver.process_census import ProcessCensus
from grader.observe.run_control.connections import Connections

PR_SET_PDEATHSIG = 1
LINGERS_S = 600
"""How long a process would wait that closes what is sent to it: for good, as far as a test goes."""


def lingering() -> tuple[socket.socket, socket.socket]:
    """Return a socket whose last close waits, and the one that never takes its bytes."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sender = socket.create_connection(listener.getsockname())
        receiver, _ = listener.accept()
    sender.setblocking(False)
    try:
        while True:
            sender.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGERS_S))
    return sender, receiver


def send_lingering(path: str, number: int, sent) -> None:
    """Connect, send sockets that linger, keep what they wait for, and stay.

    Nobody may take them before: the last to let go of one is to be somebody else.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    kept = []
    refused = False
    for _ in range(number):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        sender, receiver = lingering()
        try:
            socket.send_fds(connection, [b"\0\0\0\x02{}"], [sender.fileno()])
            sender.close()
        except PermissionError:  # now it is for us alone to wait
            refused = True
        kept += [connection, receiver, sender]
    sent.send(refused)
    signal.pause()


@pytest.fixture
def attacker():
    """Return what starts an attack on a listening socket, and says whether it was refused."""
    started = []

    def attack(path, number=1):
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(
            target=send_lingering, args=(str(path), number, theirs), daemon=True
        )
        process.start()
        started.append(process)
        return ours

    yield attack
    for process in started:
        process.kill()
        process.join()


@pytest.fixture
def older_kernel(monkeypatch):
    """Be on a kernel that lets descriptors through."""
    monkeypatch.setattr(local_sockets, "refuse_descriptors", lambda listener: None)


def assert_done_while_interrupted(act) -> None:
    """Assert that a process in which waits are interrupted gets through with it, ever."""

    def interrupted() -> None:
        interrupt_waits()
        act()

    process = multiprocessing.get_context("fork").Process(target=interrupted)
    process.start()
    process.join(LINGERS_S / 5)
    code = process.exitcode
    process.kill()
    assert code == 0, "it still waits" if code is None else "it failed"


def has_rights_to_refuse() -> bool:
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.setsockopt(socket.SOL_SOCKET, local_sockets._SO_PASSRIGHTS, 0)
        except OSError:
            return False
    return True


@pytest.mark.skipif(not has_rights_to_refuse(), reason="this needs Linux 6.16")
@pytest.mark.parametrize("socket_name", ["judge", "census", "placeholders"])
def test_the_kernel_refuses_what_is_sent_to_a_socket(tmp_path, attacker, socket_name):
    """Before anybody has accepted the connection, too: it is the sender that gets the error."""
    path = tmp_path / "census.sock"
    made = {
        "judge": lambda: Connections(path, 4, os.getuid()),
        "census": lambda: ProcessCensus(path, [os.getuid()]),
        "placeholders": lambda: PlaceholderRegistry(path, 4, os.getuid(), []),
    }[socket_name]()
    assert attacker(path).recv()
    made.close()


def test_the_judge_reads_on_where_the_kernel_refuses_nothing(tmp_path, attacker, older_kernel):
    """Each read and each close takes a moment at most, and not as long as the sender wants."""
    path = tmp_path / "judge.sock"

    def read() -> None:
        made = Connections(path, 4, os.getuid())
        assert not attacker(path, 3).recv()
        connection, _ = made._listener.accept()
        assert connection.recv(1 << 16) == b"\0\0\0\x02{}"
        connection, _ = made._listener.accept()
        connection.close()
        made.close()  # with one that nobody has accepted

    assert_done_while_interrupted(read)


def test_processes_are_counted_on_where_the_kernel_refuses_nothing(
    tmp_path, attacker, older_kernel
):
    """Whoever comes with such a socket is one process, and is let go."""
    path = tmp_path / "census.sock"

    def count() -> None:
        census = ProcessCensus(path, [os.getuid()])
        assert not attacker(path, 8).recv()
        assert census.drain() == {"said": [[]], "at_once": 1}
        census.close()

    assert_done_while_interrupted(count)


def test_who_counts_processes_has_time_for_others(tmp_path, monkeypatch):
    """However many come, and however slowly each is let go."""
    census = ProcessCensus(tmp_path / "census.sock", [os.getuid()])
    now_s = [0.0]
    monkeypatch.setattr(process_census.time, "monotonic", lambda: now_s[0])

    def slow(connection):
        now_s[0] += 0.15
        return os.getpid(), os.getuid()

    monkeypatch.setattr(process_census, "peer", slow)
    kept = []
    for _ in range(100):
        kept.append(socket.socket(socket.AF_UNIX))
        kept[-1].connect(str(tmp_path / "census.sock"))
    census.count_waiting()
    assert now_s[0] < 1
    assert census.drain() == {"said": [[]], "at_once": 1}
    assert now_s[0] < 10
    census.close()


def test_what_python_waits_for_is_still_waited_for():
    """The signal is for the kernel: a read that it interrupts goes on."""
    interrupt_waits()
    reader, writer = os.pipe()
    before_s = time.monotonic()
    threading.Timer(0.5, os.write, (writer, b"late")).start()
    assert os.read(reader, 4) == b"late"
    assert time.monotonic() - before_s >= 0.5
    interrupt_waits(0)
    os.close(reader)
    os.close(writer)


def test_elsewhere_than_in_the_main_thread_nothing_is_changed():
    """Only the main thread may set signals, and is the one that gets them."""
    interrupt_waits(0)
    thread = threading.Thread(target=interrupt_waits)
    thread.start()
    thread.join()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_socket_that_is_none_of_this_kind_is_left_alone():
    """An older kernel says the same: nothing is raised."""
    with socket.socket() as other:
        refuse_descriptors(other)
