"""Each attempt tells truly whether it succeeded: tried where it does, and where it is refused.

The children here are of our own user, so most of what a rank must not do to others succeeds.
"""

import ctypes
import json
import os
import platform
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from grader.rank import probe_modules
from grader.sealed.selftest import (
    hostile_files,
    hostile_neighbour,
    hostile_probe,
    hostile_processes,
    hostile_system,
)
from grader.sealed.selftest.examine import probe_sources
from grader.sealed.selftest.hostile_probe import ATTEMPTS, BETWEEN_RANKS, BY_LANDLOCK, BY_PROC


@pytest.fixture
def child():
    process = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    yield process.pid
    process.kill()
    process.communicate()


def outcome(steps, *, of=""):
    return hostile_probe.outcomes(each for each in steps if of in each[0])


def test_a_step_that_raises_nothing_has_succeeded():
    """A refusal is counted, another error is not taken for one."""

    def refused():
        raise PermissionError(1, "no")

    def asked_wrongly():
        raise OSError(14, "bad address")

    steps = [("easy", int), ("forbidden", refused), ("io_uring", asked_wrongly)]
    assert hostile_probe.outcomes(steps) == {
        "num_steps": 3,
        "succeeded": ["easy", "io_uring (EFAULT)"],
    }


def test_many_successes_are_told_in_few_words():
    """The answer of the probe has a limit."""
    found = hostile_probe.outcomes([(f"step {number}", int) for number in range(100)])
    assert found["succeeded"][-1] == "95 more"
    assert len(found["succeeded"]) == 6


def test_reading_files(tmp_path):
    """A file that is readable is told, one that is not there is not."""
    readable = tmp_path / "secret"
    readable.write_text("x")
    target = {"material": [str(readable), str(tmp_path / "none")]}
    found = hostile_probe.outcomes(hostile_files.try_reading_files(target))
    assert found == {"num_steps": 4, "succeeded": [f"read {readable}"]}


def test_writing_files(tmp_path):
    """A folder that is writable is told, with nothing in the way of a second time."""
    steps = list(hostile_files.try_writing_files({"read_only": [str(tmp_path), "/nowhere"]}))
    assert outcome(steps, of="write into")["succeeded"] == [f"write into {tmp_path}"]


def test_running_a_program(tmp_path):
    """Where programs run, and from a folder that is none."""
    found = outcome(
        hostile_files.try_running_from_tmp({"scratch": str(tmp_path)}), of=str(tmp_path)
    )
    assert found["succeeded"] == [f"run a program in {tmp_path}"]
    missing = {"scratch": str(tmp_path / "none")}
    assert not outcome(hostile_files.try_running_from_tmp(missing), of="none")["succeeded"]


def test_growing_a_file(tmp_path):
    """Told where no limit is set; refused under one. Nothing is left on the disk."""
    program = (
        "import json, resource, sys\n"
        "from grader.sealed.selftest.hostile_files import try_growing_files\n"
        "from grader.sealed.selftest.hostile_probe import outcomes\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
        "print(json.dumps(outcomes(try_growing_files({'scratch': sys.argv[2]}))))\n"
    )

    def succeeded(limit):
        done = subprocess.run(
            [sys.executable, "-c", program, str(limit), str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)["succeeded"]

    assert succeeded(1 << 20) == []
    assert list(tmp_path.iterdir()) == []
    if resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY:
        assert succeeded(resource.RLIM_INFINITY) == ["grow a file"]


def test_a_port_of_a_connection_that_ended():
    """Told by the kernel's table and by the port itself, unless the kernel keeps none."""
    found = hostile_probe.outcomes(hostile_system.try_ports_of_connections_that_ended({}))
    keeps = Path("/proc/sys/net/ipv4/tcp_max_tw_buckets").read_text().strip() != "0"
    both = ["read of it in /proc/net/tcp", "find the port taken"]
    assert found == {"num_steps": 2, "succeeded": both if keeps else []}


def test_a_port_that_is_free_tells_nothing():
    """Neither way: nobody has used it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for look in (hostile_system._read_of, hostile_system._find_taken):
        with pytest.raises(PermissionError):
            look(port)


def test_looking_into_a_process(child):
    """Everything of a process of our own user can be read, to the byte."""
    byte = ctypes.create_string_buffer(b"x")
    target = {"peer": child, "peer_address": ctypes.addressof(byte)}
    found = outcome(hostile_processes.try_looking_into_a_rank(target), of="/proc/")
    assert found["num_steps"] == 7
    assert found["succeeded"][:3] == [
        f"read /proc/{child}/{n}" for n in ("environ", "maps", "auxv")
    ]
    memory = outcome(hostile_processes.try_looking_into_a_rank(target), of="read the memory")
    assert memory["succeeded"] == [f"read the memory of process {child}"]
    own = {"peer": os.getpid(), "peer_address": ctypes.addressof(byte)}
    copied = outcome(hostile_processes.try_looking_into_a_rank(own), of="copy the memory")
    assert copied["succeeded"] == [f"copy the memory of process {os.getpid()}"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_has_ended_has_nothing_to_be_read():
    """The kernel lets anybody open the map of a memory that is gone, until somebody has waited."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    target = {"peer": process.pid, "peer_address": 0}
    told, tell = os.pipe()
    stranger = os.fork()
    if stranger == 0:
        try:
            os.setuid(12345)
            content = Path(f"/proc/{process.pid}/maps").read_bytes()
            found = outcome(hostile_processes.try_looking_into_a_rank(target), of="/proc/")
            words = [content.decode(), found["num_steps"], found["succeeded"]]
            os.write(tell, json.dumps(words).encode())
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(stranger, 0)
    process.wait()
    assert json.loads(os.read(told, 1 << 16)) == ["", 7, []]
    os.close(told)


def test_a_process_that_is_not_there_shows_nothing(child):
    """No attempt on it counts as a success."""
    target = {"peer": 1 << 30, "peer_address": 0}
    assert not hostile_probe.outcomes(hostile_processes.try_looking_into_a_rank(target))[
        "succeeded"
    ]


def test_disturbing_processes(child, monkeypatch):
    """A process that can be signalled, lowered and offered to the kernel is told."""
    monkeypatch.setitem(
        hostile_processes.try_disturbing_processes.__globals__, "foreign_processes", lambda: [child]
    )
    steps = list(hostile_processes.try_disturbing_processes({}))
    for what in ("signal", "offer", "lower"):
        assert len(outcome(steps, of=what)["succeeded"]) == 1, what


def test_tracing_a_child_is_told_where_it_is_possible():
    """As debuggers do: succeeds, or is refused by the system that runs the tests."""
    found = outcome(hostile_system.try_system_calls({}), of="trace a child")
    try:
        hostile_processes.trace_a_child()
    except PermissionError:
        assert found["succeeded"] == []
    else:
        assert found["succeeded"] == ["trace a child"]


def test_what_a_child_tries_is_told_as_it_was():
    """Its error is its parent's, a signal is a refusal, and no error is a success."""

    def refuse():
        raise PermissionError(1, "no")

    def end():
        os.kill(os.getpid(), 9)

    hostile_system.in_a_child(int)
    with pytest.raises(PermissionError):
        hostile_system.in_a_child(refuse)
    with pytest.raises(PermissionError):
        hostile_system.in_a_child(end)


def test_the_way_out_is_looked_for_without_sending(monkeypatch):
    """An address that this machine has leads somewhere."""
    hostile_system._find_way(hostile_system.socket.AF_INET, "127.0.0.1")


def test_system_v_objects_are_taken_away_again():
    """What an attempt makes where it may does not stay."""
    outcome(hostile_system.try_system_calls({}), of="shmget")
    _, *rows = Path("/proc/sysvipc/shm").read_text().splitlines()
    creators = [int(row.split()[4]) for row in rows]
    assert os.getpid() not in creators


@pytest.mark.skipif(platform.machine() != "x86_64", reason="others have one set of numbers")
def test_calls_by_other_numbers_are_told_where_the_kernel_makes_them():
    """As 32-bit programs: a kernel that runs these makes them for us, too, if no filter refuses."""
    found = outcome(hostile_system.try_system_calls({}), of="getpid")
    assert found["num_steps"] == 2
    has_32_bit = Path("/proc/sys/abi/vsyscall32").exists()
    assert ("getpid as 32-bit programs call it" in found["succeeded"]) == has_32_bit


def test_memory_without_a_name_is_told():
    """Which any process may make that no filter holds."""
    assert outcome(hostile_system.try_system_calls({}), of="memfd_create")["succeeded"] == [
        "memfd_create"
    ]


def test_foreign_processes_are_those_of_others():
    """Not ourselves."""
    assert os.getpid() not in hostile_processes.foreign_processes()


def test_a_daemon_is_left_behind():
    """It lives, in a session of its own, and no longer as our child."""
    daemon = hostile_probe.leave_daemon()
    try:
        assert os.getsid(daemon) not in (os.getsid(0), daemon)
        fields = Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()
        assert int(fields[1]) != os.getpid()
    finally:
        os.kill(daemon, 9)


def test_files_are_left_where_everybody_may_write():
    """They are there until somebody removes them."""
    left = hostile_files.leave_files()
    assert any(path.startswith("/tmp/") for path in left)
    for path in left:
        Path(path).unlink()


def test_all_attempts_are_probes_that_need_no_import_of_ours():
    """As a rank gets them: every attempt is found by its name, and says what it protects."""
    sources = probe_sources()
    assert not any("import grader" in each or "from grader" in each for each in sources.values())
    probes = probe_modules.load(sources)
    sent = (*probes.ATTEMPTS, *probes.BETWEEN_RANKS, *probes.BY_LANDLOCK, *probes.BY_PROC)
    found = {
        name: attempt
        for module in sent
        for name, attempt in vars(module).items()
        if name.startswith("try_")
    }
    ours = (*ATTEMPTS, *BETWEEN_RANKS, *BY_LANDLOCK, *BY_PROC)
    expected = {name for module in ours for name in vars(module) if name.startswith("try_")}
    assert set(found) == expected
    assert all(attempt.__doc__ for attempt in found.values())
    assert callable(probes.attempt) and callable(probes.attempt_on_the_other)


@pytest.fixture
def other(child, tmp_path, monkeypatch):
    """What a rank that is not kept apart knows of another one."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / hostile_neighbour.KEPT).touch()
    monkeypatch.chdir(tmp_path)
    return {"other": child, "other_folder": str(folder), "shared": __file__}


@pytest.mark.parametrize(
    "attempt",
    [
        attempt
        for module in (*BETWEEN_RANKS, *BY_LANDLOCK, *BY_PROC)
        for name, attempt in vars(module).items()
        if name.startswith("try_")
    ],
)
def test_a_rank_that_is_not_kept_apart_can_do_all_of_it(other, attempt):
    """So an attempt that is refused was refused by what keeps ranks apart."""
    for what, act in attempt(other):
        if what == "write into /dev/mqueue" and not Path("/dev/mqueue").is_dir():
            continue
        assert hostile_probe.outcomes([(what, act)])["succeeded"], what
