"""A command that a launcher starts several times says so, and grades nothing."""

import pytest

from grader import cli
from grader.commands.launcher_check import NUM_PROCESSES, require_started_once, without_launcher
from grader.model.errors import UsageError


@pytest.mark.parametrize(("launcher", "name"), NUM_PROCESSES.items())
def test_several_processes_are_told_what_started_them(monkeypatch, launcher, name):
    monkeypatch.setenv(name, "8")
    with pytest.raises(UsageError, match=f"^{launcher} started this command 8 times"):
        cli.run(["list"])


@pytest.mark.parametrize("number", ["1", "", "many"])
def test_one_process_is_started_as_it_should(number):
    require_started_once({"SLURM_STEP_NUM_TASKS": number, "SLURM_NTASKS": "16"})


def test_a_worker_that_was_started_beside_others_starts_a_command_once():
    environment = {"SLURM_STEP_NUM_TASKS": "4", "OMPI_COMM_WORLD_SIZE": "2", "HOME": "/root"}
    assert without_launcher(environment) == {"HOME": "/root"}
