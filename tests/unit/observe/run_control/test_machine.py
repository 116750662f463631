"""What a machine has to have: packages, and ports for torch groups that begin by themselves."""

import socket
import tempfile
from pathlib import Path

import pytest

from grader.model.errors import GraderError
from grader.observe.run_control import machine


def told(monkeypatch, tmp_path, first, last):
    """Let the kernel hand out these ports to whoever names none."""
    file = Path(tmp_path) / "ip_local_port_range"
    file.write_text(f"{first}\t{last}\n")
    monkeypatch.setattr(machine, "_EPHEMERAL", file)


def test_a_port_is_none_that_others_are_given_without_asking(monkeypatch, tmp_path):
    """Between our look and the rank's bind nobody gets it by accident."""
    told(monkeypatch, tmp_path, 15_003, 60_999)
    assert {machine.free_port() for _ in range(40)} <= {15_000, 15_001, 15_002}


def test_where_the_kernel_hands_out_all_of_them_one_of_those_has_to_do(monkeypatch, tmp_path):
    """As on a server that opens a great many connections."""
    told(monkeypatch, tmp_path, 1024, 65_535)
    assert 1024 <= machine.free_port() <= 65_535


def test_a_port_that_somebody_listens_on_is_not_free(monkeypatch, tmp_path):
    """With the only one taken, that is said."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        taken = listening.getsockname()[1]
        told(monkeypatch, tmp_path, taken + 1, 65_535)
        monkeypatch.setattr(machine, "_FIRST_PORT", taken)
        with pytest.raises(GraderError, match="no free port"):
            machine.free_port()


def test_a_package_that_ranks_need_and_nobody_has_installed_is_told():
    """Once, whichever of its modules are needed, and before anything is started."""
    machine.check_machine(["numpy", "json.decoder"])
    with pytest.raises(GraderError, match=r"needs torchlight, which is not installed: install"):
        machine.check_machine(["numpy", "torchlight.nn", "torchlight"])
    with pytest.raises(GraderError, match="needs torchlight and candle, which are not installed"):
        machine.check_machine(["torchlight", "candle"])


def test_a_machine_without_a_folder_for_temporary_files_says_what_to_add(monkeypatch):
    """As a read-only container without its tmpfs; one sentence, before anything is started."""

    def find_none():
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", find_none)
    monkeypatch.setenv("TMPDIR", "/tmp")
    with pytest.raises(GraderError, match=r"no folder .* not even /tmp; .* --tmpfs /tmp:rw,noexec"):
        machine.check_machine()
