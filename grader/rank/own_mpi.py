"""A stand-in for mpi4py.MPI: one process runs many fits that each "initialise" MPI."""

import sys
from types import ModuleType
from typing import Any

_REPLACED = ("Init", "Init_thread", "Finalize", "Is_initialized", "Is_finalized", "COMM_WORLD")


class SharedMPI(ModuleType):
    """Looks like mpi4py.MPI, but Init and Finalize only note that they were called.

    COMM_WORLD is the communicator of the case that runs now.
    """

    def __init__(self, real: ModuleType) -> None:
        super().__init__(real.__name__, real.__doc__)
        self.__dict__.update(
            (name, value) for name, value in vars(real).items() if name not in _REPLACED
        )
        self._real = real
        self.begin_case(real.COMM_WORLD, is_initialised=False)

    def begin_case(self, communicator: Any, *, is_initialised: bool) -> None:
        """Let the next fit see `communicator` as COMM_WORLD, and MPI initialised or not yet."""
        self.COMM_WORLD = communicator
        self._initialised = is_initialised
        self._finalised = False

    def Init(self) -> None:  # noqa: N802 - MPI's own name
        """Note that the student initialised MPI."""
        self._initialised = True

    def Init_thread(self, required: int | None = None) -> int:  # noqa: N802 - MPI's own name
        """Note that the student initialised MPI; return the thread level that is provided."""
        self._initialised = True
        return int(self._real.Query_thread())

    def Finalize(self) -> None:  # noqa: N802 - MPI's own name
        """Note that the student finalised MPI."""
        self._finalised = True

    def Is_initialized(self) -> bool:  # noqa: N802 - MPI's own name
        """Return whether this fit has called Init."""
        return self._initialised

    def Is_finalized(self) -> bool:  # noqa: N802 - MPI's own name
        """Return whether this fit has called Finalize."""
        return self._finalised


def install(real: ModuleType) -> SharedMPI:
    """Make every later import of mpi4py.MPI find the stand-in; return it."""
    shared = SharedMPI(real)
    sys.modules["mpi4py.MPI"] = shared
    sys.modules["mpi4py"].MPI = shared  # type: ignore[attr-defined]
    return shared
