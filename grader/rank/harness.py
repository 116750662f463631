"""The process around the probe in each rank: takes cases, runs them, sends bytes back."""

import faulthandler
import os
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import own_mpi, problem, wire
from .student import Student


def main(socket_path: str) -> None:
    """Serve one rank from its first word to the judge until the judge ends the run."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(socket_path)
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    wire.send(connection, "hello", {"rank": rank})
    trace, output, stacks = wire.receive_descriptors(connection, 3)
    _, setup, _ = wire.receive(connection)
    _take_over(output, stacks)
    os.environ["GRADER_TRACE_FD"] = str(trace)
    sys.path += [setup["support"], setup["submission"]]
    sys.dont_write_bytecode = True
    probes = ModuleType("probes")
    exec(compile(setup["probes"], "probes.py", "exec"), probes.__dict__)  # noqa: S102 - ours
    world = _World(setup["mpi_init"], setup["genuine"])
    student = Student(world.mark_phase)
    while True:
        kind, values, arrays = wire.receive(connection)
        if kind == "end":
            os._exit(0)
        probe = getattr(probes, values["probe"])
        arguments = {**values["values"], **arrays}
        communicator = world.begin_case()
        wire.send(connection, "ready")
        wire.receive(connection)
        _answer(connection, Path(setup["submission"]), probe, student, communicator, arguments)


def _answer(
    connection: socket.socket,
    submission: Path,
    probe: Any,
    student: Student,
    communicator: Any,
    arguments: dict[str, Any],
) -> None:
    """Run one case and send its results, or what the student's code raised."""
    try:
        results: Mapping[str, Any] = probe(student, communicator, **arguments)
    except BaseException as error:
        wire.send(connection, "problem", problem.describe(error, submission))
        return
    wire.send(connection, "finished")
    wire.send(connection, "result", *sort_results(results))


def sort_results(results: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a probe's results as (values, arrays); what is neither array nor text is named."""
    texts = {name: value for name, value in results.items() if isinstance(value, str)}
    arrays = {name: np.asarray(value) for name, value in results.items() if name not in texts}
    for name in [name for name, array in arrays.items() if array.dtype.kind not in "biufc"]:
        texts[name] = f"an object of type {type(results[name]).__name__}"
        del arrays[name]
    return {"texts": texts}, arrays


class _World:
    """MPI as the cases of this run see it."""

    def __init__(self, mpi_init: str, genuine: bool) -> None:
        """mpi_init: `harness` or `student`; genuine: MPI is left to the student altogether."""
        self._shared: own_mpi.SharedMPI | None = None
        self._mpi: Any = None
        if genuine:
            return
        from mpi4py import MPI

        self._mpi = MPI
        if mpi_init == "student":
            self._shared = own_mpi.install(sys.modules["mpi4py.MPI"])
        # Phases belong to the file that marks one first: ours, before any of the student's runs.
        self.mark_phase(0)

    def begin_case(self) -> Any:
        """Return a communicator of the case's own: what an earlier case left behind stays there."""
        if self._mpi is None:
            return None
        communicator = self._mpi.COMM_WORLD.Dup()
        if self._shared is not None:
            self._shared.begin_case(communicator)
        return communicator

    def mark_phase(self, level: int) -> None:
        """Tell the interposer which phase begins; in a genuine run only while MPI is up."""
        mpi = self._mpi or sys.modules.get("mpi4py.MPI")
        if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
            mpi.Pcontrol(level)


def _take_over(output: int, stacks: int) -> None:
    """Send stdout and stderr to the judge's file, and stack dumps on SIGUSR1 to another."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
    faulthandler.enable(file=stacks)
