"""Each attempt tells truly whether it succeeded: tried where it does, and where it is refused.

The children here are of our own user, so most of what a rank must not do to others succeeds.
"""

import ctypes
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from grader.rank import probe_modules
from grader.sealed.selftest import hostile_attempts, hostile_probe
from grader.sealed.selftest.examine import probe_sources
from grader.sealed.selftest.hostile_attempts import (
    foreign_processes,
    try_reading_files,
    try_reading_processes,
    try_system_calls,
)


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
    found = hostile_probe.outcomes(try_reading_files(target))
    assert found == {"num_steps": 4, "succeeded": [f"read {readable}"]}


@pytest.fixture
def looked_into(child, monkeypatch):
    """Return what comes of looking into a process at an address, as if it were another user's."""

    def look(pid, address, of=""):
        monkeypatch.setattr(hostile_attempts, "foreign_processes", lambda: [pid])
        return outcome(try_reading_processes({"canary_address": address}), of=of)

    return look


def test_looking_into_a_process(child, looked_into):
    """Everything of a process of our own user can be read, to the byte."""
    byte = ctypes.create_string_buffer(b"x")
    found = looked_into(child, ctypes.addressof(byte), of="read")
    assert found["succeeded"] == [
        *(f"read /proc/{child}/{name}" for name in ("environ", "maps")),
        f"read the memory of process {child}",
    ]
    copied = looked_into(os.getpid(), ctypes.addressof(byte), of="copy the memory")
    assert copied["succeeded"] == [f"copy the memory of process {os.getpid()}"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_has_ended_has_nothing_to_be_read(looked_into):
    """The kernel lets anybody open the map of a memory that is gone, until somebody has waited."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    told, tell = os.pipe()
    stranger = os.fork()
    if stranger == 0:
        try:
            os.setuid(12345)
            content = Path(f"/proc/{process.pid}/maps").read_bytes()
            found = looked_into(process.pid, 0, of="/proc/")
            words = [content.decode(), found["num_steps"], found["succeeded"]]
            os.write(tell, json.dumps(words).encode())
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(stranger, 0)
    process.wait()
    assert json.loads(os.read(told, 1 << 16)) == ["", 2, []]
    os.close(told)


def test_a_process_that_is_not_there_shows_nothing(looked_into):
    """No attempt on it counts as a success."""
    assert looked_into(1 << 30, 0) == {"num_steps": 4, "succeeded": []}


def test_tracing_a_child_is_told_where_it_is_possible():
    """As debuggers do: succeeds, or is refused by the system that runs the tests."""
    found = outcome(try_system_calls({}), of="trace a child")
    try:
        hostile_attempts._trace_a_child()
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

    hostile_attempts._in_a_child(int)
    with pytest.raises(PermissionError):
        hostile_attempts._in_a_child(refuse)
    with pytest.raises(PermissionError):
        hostile_attempts._in_a_child(end)


def test_system_v_objects_are_taken_away_again():
    """What an attempt makes where it may does not stay."""
    outcome(try_system_calls({}), of="shmget")
    _, *rows = Path("/proc/sysvipc/shm").read_text().splitlines()
    creators = [int(row.split()[4]) for row in rows]
    assert os.getpid() not in creators


@pytest.mark.skipif(platform.machine() != "x86_64", reason="others have one set of numbers")
def test_calls_by_other_numbers_are_told_where_the_kernel_makes_them():
    """As 32-bit programs: a kernel that runs these makes them for us, too, if no filter refuses."""
    found = outcome(try_system_calls({}), of="getpid")
    assert found["num_steps"] == 2
    has_32_bit = Path("/proc/sys/abi/vsyscall32").exists()
    assert ("getpid as 32-bit programs call it" in found["succeeded"]) == has_32_bit


def test_memory_without_a_name_is_told():
    """Which any process may make that no filter holds."""
    assert outcome(try_system_calls({}), of="memfd_create")["succeeded"] == ["memfd_create"]


def test_foreign_processes_are_those_of_others():
    """Not ourselves."""
    assert os.getpid() not in foreign_processes()


def test_all_attempts_are_probes_that_need_no_import_of_ours():
    """As a rank gets them: every attempt is found by its name, and says what it protects."""
    sources = probe_sources()
    assert not any("import grader" in each or "from grader" in each for each in sources.values())
    probes = probe_modules.load(sources)
    sent, ours = vars(probes.hostile_attempts), vars(hostile_attempts)
    found = {name: attempt for name, attempt in sent.items() if name.startswith("try_")}
    assert set(found) == {name for name in ours if name.startswith("try_")}
    assert all(attempt.__doc__ for attempt in found.values())
    assert callable(probes.attempt) and callable(probes.take_memory)
