"""Placeholders: who may stand for a rank, what of its environment is allowed; nobody waits."""

import os
import socket
from pathlib import Path

import pytest

from grader.observe.forkserver import mpirun_placeholders as stubs_module
from grader.observe.forkserver.mpirun_placeholders import PlaceholderRegistry, allowed_environment

FOLDERS = (Path("/dev/shm/grader-x"), Path("/opt/venv"))


@pytest.fixture
def registry(tmp_path, monkeypatch):
    monkeypatch.setattr(stubs_module, "is_below", lambda pid, ancestor: True)
    made = PlaceholderRegistry(tmp_path / "placeholders.sock", 2, os.getuid(), FOLDERS)
    yield made
    made.close()


def connect_placeholder(registry, said=b"", *, ends=True):
    placeholder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    placeholder.connect(str(registry._path))
    placeholder.sendall(said)
    if ends:
        placeholder.shutdown(socket.SHUT_WR)
    return placeholder


def is_sent_away(placeholder):
    try:
        return placeholder.recv(1) == b""
    except ConnectionResetError:
        return True


def rank(number):
    return b"OMPI_COMM_WORLD_RANK=%d\0PMIX_RANK=%d" % (number, number)


def test_each_rank_is_claimed_once_and_then_the_door_is_shut(registry):
    """After the last placeholder there is no listener, and no socket in the folder."""
    first, again, second = (
        connect_placeholder(registry, rank(0)),
        connect_placeholder(registry, rank(0)),
        connect_placeholder(registry, rank(1)),
    )
    assert [claimed for claimed, _ in registry.poll()] == [0, 1]
    assert registry.sources == []
    assert not registry._path.exists()
    assert is_sent_away(again)
    registry.tell(0, -9)
    assert first.recv(16) == b"-9"
    registry.tell(1, 0)
    assert second.recv(16) == b"0"
    with pytest.raises(OSError):
        connect_placeholder(registry, rank(1))


def test_a_silent_placeholder_does_not_hold_up_the_others(registry):
    """It is heard of no more once its time is up; the ranks come meanwhile."""
    silent = connect_placeholder(registry, b"OMPI_", ends=False)
    placeholders = [connect_placeholder(registry, rank(0))]
    assert [claimed for claimed, _ in registry.poll()] == [0]
    for candidate in registry._candidates:
        candidate.until_s = 0.0
    assert registry.poll() == []
    assert is_sent_away(silent)
    placeholders.append(connect_placeholder(registry, rank(1)))
    assert [claimed for claimed, _ in registry.poll()] == [1]


def test_a_placeholder_that_says_too_much_is_sent_away(registry):
    """No placeholder can fill our memory."""
    placeholder = connect_placeholder(registry, ends=False)
    placeholder.setblocking(False)
    try:
        for _ in range(10_000):
            assert registry.poll() == []
            placeholder.send(b"A" * (1 << 16))
    except (BrokenPipeError, ConnectionResetError):
        assert registry._candidates == []
        return
    raise AssertionError("everything was taken")


@pytest.mark.parametrize("said", [b"", rank(2), b"OMPI_COMM_WORLD_RANK=-1", b"\xff\xfe\0=\0==="])
def test_a_placeholder_without_a_free_rank_is_sent_away(registry, said):
    """Nothing that is said makes a rank that is not there."""
    placeholder = connect_placeholder(registry, said)
    assert registry.poll() == []
    assert is_sent_away(placeholder)


def test_a_stranger_is_sent_away(tmp_path):
    """A process that mpirun has not started stands for no rank, whatever it claims."""
    registry = PlaceholderRegistry(tmp_path / "placeholders.sock", 1, os.getuid(), FOLDERS)
    registry.mpirun = os.getpid()
    stranger = connect_placeholder(registry, rank(0))
    assert registry.poll() == []
    assert is_sent_away(stranger)
    registry.close()


def test_another_users_process_is_sent_away(tmp_path, monkeypatch):
    """Whoever is not the run's user is no placeholder."""
    monkeypatch.setattr(stubs_module, "is_below", lambda pid, ancestor: True)
    registry = PlaceholderRegistry(tmp_path / "placeholders.sock", 1, os.getuid() + 1, FOLDERS)
    stranger = connect_placeholder(registry, rank(0))
    assert registry.poll() == []
    assert is_sent_away(stranger)
    registry.close()


BELIEVED = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_WORLD_LOCAL_SIZE": "4",
    "OMPI_MCA_btl": "self,sm",
    "OMPI_MCA_btl_sm_backing_directory": "/dev/shm/grader-x/scratch",
    "PMIX_SERVER_URI41": "prterun-vm-26302@0.0;tcp4://127.0.0.1:52307",
    "PMIX_PREFIX": "/opt/venv",
    "PMIX_SERVER_TMPDIR": "/dev/shm/grader-x/scratch/ompi.1",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_PRELOAD", "/dev/shm/grader-x/evil.so"),
        ("OMPI_MCA_mca_base_component_path", "/dev/shm/grader-x/scratch"),
        ("OMPI_MCA_mca_component_path", "/dev/shm/grader-x/scratch"),
        ("OMPI_MCA_pml_base_verbose", "1"),
        ("PMIX_MCA_pmix_base_component_path", "/tmp"),
        ("PMIX_MCA_psec", "none"),
        ("PRTE_MCA_prte_launch_agent", "/tmp/x"),
        ("OPAL_LD_PRELOAD", "x.so"),
        ("PYTHONPATH", "/tmp"),
        ("GRADER_TRACE_FD", "5"),
        ("OPAL_PREFIX", "/tmp/evil"),
        ("PMIX_PREFIX", "//tmp/evil"),
        ("PMIX_PREFIX", "/opt/venv/../../tmp"),
        ("PMIX_PREFIX", "/opt/venvelse"),
        ("PMIX_SERVER_URI2", "x;tcp4://127.0.0.1:1;/tmp/evil"),
        ("OMPI_FILE_LOCATION", "/tmp/a:/dev/shm/grader-x"),
    ],
)
def test_only_listed_variables_that_stay_within_our_folders_are_believed(name, value):
    """What could make a rank load code is dropped, and with it nothing else."""
    said = {**BELIEVED, name: value}
    raw = b"\0".join(os.fsencode(f"{key}={text}") for key, text in said.items())
    assert allowed_environment(raw, FOLDERS) == {
        key: BELIEVED[key] for key in BELIEVED if key != name
    }
