"""The installed pytest plugin: open mode, for `mpirun -n N python -m pytest --with-mpi SUITE`.

`grade open` starts it so. Does nothing unless --submission is given. Each rank restarts itself once
with the interposer preloaded, before MPI has started; from then on pytest runs in every rank as
usual.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.model.errors import GraderError

_RESTARTED = "GRADER_OPEN_MODE_TRACE"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that turns open mode on."""
    group = parser.getgroup("grader", "run the checks of a submission inside mpirun")
    group.addoption("--submission", metavar="DIR", help="check the submission in this folder")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Restart with the interposer, before pytest captures output and before MPI starts."""
    if early_config.known_args_namespace.submission and _RESTARTED not in os.environ:
        _leave_reporting_to_rank_0()
        _restart_traced()
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marks of a suite known, and turn open mode on where it was asked for."""
    from grader.grading_plugin.marks import MARKS

    # It is pytest-mpi's, which `grade open` does without.
    others = () if config.pluginmanager.hasplugin("pytest_mpi") else ("mpi",)
    for mark in (*MARKS, *others):
        config.addinivalue_line("markers", mark)
    folder = config.getoption("--submission")
    if folder:
        from grader.addons.open_mode.open_board import own_memory
        from grader.addons.open_mode.open_mode import OpenMode
        from grader.observe.interposer.memory import TraceMemory
        from grader.observe.run_control.rank_files import NUM_TRACE_RECORDS, RankFiles

        if not Path(folder).is_dir():
            raise pytest.UsageError(f"--submission {folder}: there is no such folder")
        trace = TraceMemory(int(os.environ[_RESTARTED]), NUM_TRACE_RECORDS)
        files = RankFiles(trace, own_memory("output"), own_memory("stacks"))
        config.pluginmanager.register(OpenMode(config, Path(folder), files))


def _leave_reporting_to_rank_0() -> None:
    """Silence the other ranks: all assert on the same outcomes; rank 0 shows what they print."""
    if os.environ.get("OMPI_COMM_WORLD_RANK", "0") != "0":
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def _restart_traced() -> None:
    """Execute this very command again, with the interposer in front of MPI."""
    from grader.addons.open_mode.open_board import own_memory
    from grader.observe.interposer import build

    try:
        library = build.library()
    except GraderError as error:
        raise pytest.UsageError(str(error)) from None
    # One descriptor for the interposer, which closes it, and one for us.
    given = own_memory("trace")
    kept = os.dup(given)
    os.set_inheritable(given, True)
    os.set_inheritable(kept, True)
    environment = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "GRADER_TRACE_FD": str(given),
        _RESTARTED: str(kept),
    }
    os.execve(sys.executable, sys.orig_argv, environment)  # noqa: S606 - the same command again
