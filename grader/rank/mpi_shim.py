"""What a submission gets when it imports mpi4py.MPI: a stand-in for many fits, or the real one.

The real one has been imported before the rank was forked, without initialising MPI.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
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


class _FirstImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets the next import of mpi4py.MPI do what mpi4py's own first import does."""

    def __init__(self, real: ModuleType) -> None:
        self._real = real

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for mpi4py.MPI only."""
        if fullname != self._real.__name__:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the real module."""
        return self._real

    def exec_module(self, module: ModuleType) -> None:
        """Initialise MPI, unless mpi4py.rc says not to."""
        sys.meta_path.remove(self)
        rc = sys.modules["mpi4py"].rc
        if rc.initialize and not module.Is_initialized():
            wanted = rc.thread_level if rc.threads else "single"
            module.Init_thread(getattr(module, f"THREAD_{wanted.upper()}"))


def forget(real: ModuleType) -> None:
    """Make the next import of mpi4py.MPI initialise MPI, as the first one in a program does."""
    package = sys.modules["mpi4py"]
    package.rc.initialize, package.rc.finalize = True, None
    del sys.modules[real.__name__]
    del package.MPI
    sys.meta_path.insert(0, _FirstImport(real))
