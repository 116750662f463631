"""The backend a submission finds itself in: MPI, torch.distributed, or none."""

import ctypes
import os
import select
import socket
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from . import mpi_shim
from .trace_writer import TraceWriter

_PAUSE_MS, _LONG_PAUSE_MS = 1, 5
_MANY_PAUSES = 200


class Backend(Protocol):
    """What connects the ranks of a run."""

    leaves_messages: bool
    """Messages that a call left under way go on after it has returned, from its arrays."""

    world: str
    """What connects the ranks, as far as it matters for what is left to them: `mpi`, `own-mpi`
    where the submission starts it, `gloo`; empty where there is but one."""

    def begin_case(self) -> Any:
        """Return what the probe gets as `comm`, of this case's own."""

    def mark_phase(self, level: int) -> None:
        """Tell the trace which phase begins: 0 outside, 1 counted by the rules, 2 paused."""

    def progress_until_readable(self, connection: socket.socket) -> None:
        """Let messages go on that this rank has left under way, until the judge says something.

        A program of its own would enter MPI again; this rank has nothing more to call.
        """


def import_all() -> None:
    """Import what ranks may need, because a rank under another user may not be able to read it.

    Nothing for torch unless torch itself has been imported: that takes over a second.
    """
    if "torch" in sys.modules:
        from . import torch_backend  # noqa: F401 - for the ranks

        # Torch asks /proc once what the processor can do; here it asks for all ranks.
        sys.modules["torch"].backends.cpu.get_cpu_capability()


def enter(setup: Mapping[str, Any], rank: int, trace_fd: int, gloo_counts_fd: int) -> Backend:
    """Return the backend that the judge's setup asks for."""
    kind = setup["backend"]
    if kind == "none":
        return NoBackend()
    if kind.startswith("torch"):
        from .torch_backend import TorchBackend

        trace = TraceWriter(trace_fd, setup["layout"], rank, setup["ranks"])
        if ctypes.CDLL(None).grader_watch_gloo(trace_fd, gloo_counts_fd) != 0:  # of the interposer
            raise RuntimeError("the grader cannot watch gloo's messages")
        store = os.path.join(os.getcwd(), "processes")  # noqa: PTH109, PTH118 - a name for C++
        own_kind = "standalone" if setup["standalone"] else kind
        return TorchBackend(
            rank,
            setup["ranks"],
            setup["port"],
            store,
            trace,
            kind=own_kind,
        )
    os.environ["GRADER_TRACE_FD"] = str(trace_fd)
    return StandaloneMPI() if setup["standalone"] else SharedMPI(kind)


class NoBackend:
    """No messages at all."""

    leaves_messages = False
    world = ""

    def begin_case(self) -> None:
        """Return nothing: there is nobody to talk to."""

    def mark_phase(self, level: int) -> None:
        """Do nothing: there is no trace."""

    def progress_until_readable(self, connection: socket.socket) -> None:
        """Do nothing: there are no messages."""


class SharedMPI:
    """MPI, initialised once for all cases; each case has a duplicate of COMM_WORLD."""

    leaves_messages = True
    world = "mpi"

    def __init__(self, kind: str) -> None:
        from mpi4py import MPI

        if not MPI.Is_initialized():
            MPI.Init_thread(MPI.THREAD_MULTIPLE)
        self._mpi = MPI
        self._progress = ctypes.CDLL(None).grader_progress  # of the interposer
        self._shared = None
        if kind != "mpi":
            self._shared = mpi_shim.install(sys.modules["mpi4py.MPI"])
        # Any import of mpi4py would have initialised it for a script.
        self._is_initialised = kind == "mpi-script"
        # Phases belong to the file that marks one first: ours, before any of the student's runs.
        self.mark_phase(0)

    def begin_case(self) -> Any:
        """Return a communicator of the case's own: what an earlier case left behind stays there."""
        communicator = self._mpi.COMM_WORLD.Dup()
        if self._shared is not None:
            self._shared.begin_case(communicator, is_initialised=self._is_initialised)
        return communicator

    def mark_phase(self, level: int) -> None:
        """Tell the interposer which phase begins."""
        self._mpi.Pcontrol(level)

    def progress_until_readable(self, connection: socket.socket) -> None:
        """Enter MPI now and then, unrecorded: it moves nothing while a rank is outside.

        Most of what is left moves at once. Later there are longer pauses, so that many ranks
        that wait take nothing from one that works.
        """
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        num_pauses = 0
        while not poll.poll(_PAUSE_MS if num_pauses < _MANY_PAUSES else _LONG_PAUSE_MS):
            num_pauses += 1
            self._progress()


class StandaloneMPI:
    """MPI as any program finds it: the submission's own import of mpi4py initialises it, or not."""

    leaves_messages = False
    world = "own-mpi"

    def __init__(self) -> None:
        self._mpi = sys.modules["mpi4py.MPI"]
        mpi_shim.forget(self._mpi)

    def begin_case(self) -> None:
        """Return nothing: the submission finds its communicator itself."""

    def mark_phase(self, level: int) -> None:
        """Tell the interposer which phase begins, while MPI is up."""
        if self._mpi.Is_initialized() and not self._mpi.Is_finalized():
            self._mpi.Pcontrol(level)

    def progress_until_readable(self, connection: socket.socket) -> None:
        """Do nothing: this program's own calls are all that MPI ever gets from it."""
