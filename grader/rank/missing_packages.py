"""Stands in for packages that are not installed, so that an import nothing uses costs nothing."""

import builtins
import dis
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn

from . import frames
from .remarks import Remarks

_IMPORT_NAME = dis.opmap["IMPORT_NAME"]
_USES = (
    *("call", "enter", "exit", "aenter", "aexit", "await", "iter", "next", "len", "contains"),
    *("getitem", "setitem", "reversed"),
    *("delitem", "setattr", "delattr", "mro_entries", "instancecheck", "subclasscheck"),
    *("bool", "int", "float", "index", "str", "format", "fspath", "array", "lt"),
    *("le", "gt", "ge", "neg", "pos", "invert", "add", "sub", "mul", "matmul", "truediv"),
    *("floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "radd", "rsub", "rmul"),
    *("repr", "abs", "round", "divmod", "rdivmod", "rlshift", "rrshift", "aiter", "anext"),
    *("rmatmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rand", "ror", "rxor"),
)
"""The special methods by which Python uses an object without asking for an attribute."""


class _StandIn:
    """A package that is not installed, or a name in it: whatever uses it raises."""

    _origin: tuple[str, str, int]
    _remarks: Remarks

    def __init__(self, origin: tuple[str, str, int], remarks: Remarks) -> None:
        """origin: the package, and the file and line that import it."""
        vars(self).update(_origin=origin, _remarks=remarks)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)  # libraries look for such names without using the package
        self._raise()

    def _raise(self, *_: object, **__: object) -> NoReturn:
        package, file, line = self._origin
        self._remarks.take_back("import", package, file, line)
        raise ModuleNotFoundError(
            f"No module named {package!r}", name=package, path=f"{file}:{line}"
        )


for _use in _USES:
    setattr(_StandIn, f"__{_use}__", _StandIn._raise)


def install(submission: Path, support: Path) -> Remarks:
    """Have import statements of a submission return stand-ins; return where these are remarked.

    Only where nothing around the statement expects that it fails, and only for packages that are
    neither installed nor the name of a file or folder in submission or support.
    """
    remarks = Remarks()
    builtins.__import__ = _Import(submission, support, remarks)
    return remarks


class _Import:
    """Python's `__import__`, with stand-ins.

    No finder of modules makes these: what is in `sys.modules` is there for every library that asks.
    """

    def __init__(self, submission: Path, support: Path, remarks: Remarks) -> None:
        self._submission, self._support = submission, support
        self._remarks = remarks
        self._import = builtins.__import__

    def __call__(
        self,
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Do what Python's own does; return a stand-in where it finds no such package."""
        try:
            return self._import(name, globals, locals, fromlist or (), level)
        except ModuleNotFoundError as error:
            package, *inner = name.split(".")
            frame = sys._getframe(1)
            is_whole = error.name == package and level == 0 and "*" not in (fromlist or ())
            if not is_whole or self._is_known(package) or not self._is_unguarded_import(frame):
                raise
        origin = (package, frame.f_code.co_filename, frame.f_lineno)
        self._remarks.add("import", *origin)
        made = [_StandIn(origin, self._remarks) for _ in (package, *inner)]
        for outer, part, module in zip(made, inner, made[1:], strict=False):
            vars(outer)[part] = module
        vars(made[-1]).update((part, _StandIn(origin, self._remarks)) for part in fromlist or ())
        return made[-1 if fromlist else 0]

    def _is_known(self, package: str) -> bool:
        """Return whether a name is the standard library's, or that of a file that was given."""
        return package in sys.stdlib_module_names or any(
            path.stem == package
            for folder in (self._submission, self._support)
            for path in folder.rglob(f"{package}*")
        )

    def _is_unguarded_import(self, frame: FrameType) -> bool:
        """Return whether a frame of the submission imports and nothing around it may expect errors.

        A `try` or `with` counts in whichever of the submission's files that run it stands.
        """
        if frame.f_code.co_code[frame.f_lasti] != _IMPORT_NAME or not self._is_theirs(frame):
            return False
        around: FrameType | None = frame
        while around is not None:
            if self._is_theirs(around) and _is_guarded(around.f_code, around.f_lasti):
                return False
            around = around.f_back
        return True

    def _is_theirs(self, frame: FrameType) -> bool:
        return frames.is_in(frame.f_code.co_filename, (self._submission,))


# Code that looks on the stack for the importer skips Python's own frames; under this name it skips
# ours, too. To the guard it is the standard library's.
_Import.__call__.__code__ = _Import.__call__.__code__.replace(
    co_filename="<frozen importlib._bootstrap>"
)


def _is_guarded(code: CodeType, instruction: int) -> bool:
    """Return whether an exception of an instruction would be handled in its own code."""
    entries: Any = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined] # it has
    return any(entry.start <= instruction < entry.end for entry in entries)
