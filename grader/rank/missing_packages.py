"""Stands in for what cannot be imported, so that an import which nothing uses costs nothing."""

import builtins
import contextlib
import dis
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, NamedTuple, NoReturn

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
"""The special methods by which Python uses an object without asking for an attribute.

Without those of `==`, which typing calls for annotations.
"""


class _Failure(NamedTuple):
    """An import that fails."""

    is_absent: bool
    """Nothing of the package is installed."""
    about: str
    """The package; or the name that an installed package does not have."""
    message: str
    file: str
    line: int

    @property
    def remark(self) -> tuple[str, str, str, int]:
        """Return what Remarks take."""
        return ("import" if self.is_absent else "failed_import"), self.about, self.file, self.line

    def error(self) -> ImportError:
        """Return an error that says what Python has said, with the line that imports."""
        kind = ModuleNotFoundError if self.is_absent else ImportError
        error = kind(self.message, name=self.about)
        error.imported_at = f"{self.file}:{self.line}"  # type: ignore[attr-defined] # for problem.py
        return error


class _StandIn:
    """What could not be imported, or a name in it: whatever uses it raises."""

    _failure: _Failure
    _remarks: Remarks

    def __init__(self, failure: _Failure, remarks: Remarks) -> None:
        vars(self).update(_failure=failure, _remarks=remarks)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)  # libraries look for such names without using the package
        self._raise()

    def _raise(self, *_: object, **__: object) -> NoReturn:
        self._remarks.take_back(*self._failure.remark)
        raise self._failure.error()


class _Partial:
    """A package that is there, one module of which could not be imported."""

    def __init__(self, module: Any) -> None:
        vars(self).update(_module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


for _use in _USES:
    setattr(_StandIn, f"__{_use}__", _StandIn._raise)


def install(submission: Path, support: Path) -> Remarks:
    """Make failing imports of a submission return stand-ins; return the remarks about them.

    Only where no code around the statement may expect that it fails, and only for what is no file
    or folder in submission or support.
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
        """Do what Python's own does; return stand-ins for what it does not find."""
        names, frame = fromlist or (), sys._getframe(1)
        try:
            module = self._import(name, globals, locals, names, level)
        except ImportError as error:
            if not self._may_stand_in(frame, name, names, level):
                raise
            is_absent = isinstance(error, ModuleNotFoundError) and error.name == _package(name)
            about = _package(name) if is_absent else (names or name.split(".")[-1:])[0]
            message = str(error) or f"{name} could not be imported"
        else:
            about = _missing_name(module, names) if names and self._is_theirs(frame) else ""
            if not about or not self._may_stand_in(frame, name, names, level):
                return module
            is_absent, message = False, f"cannot import name {about!r} from {module.__name__!r}"
        failure = _Failure(is_absent, about, message, frame.f_code.co_filename, frame.f_lineno)
        self._remarks.add(*failure.remark)
        if names:
            return SimpleNamespace(**{each: self._named(name, each, failure) for each in names})
        return self._module(name, failure)

    def _named(self, name: str, each: str, failure: _Failure) -> Any:
        """Return what a module has under a name, else a stand-in."""
        if name in sys.modules:
            with contextlib.suppress(Exception):  # what is imported may raise anything
                return getattr(self._import(name, None, None, (each,)), each)
        return _StandIn(failure, self._remarks)

    def _module(self, name: str, failure: _Failure) -> Any:
        """Return the outermost package of a module, with a stand-in where that would be."""
        parts = name.split(".")
        found: Any = _StandIn(failure, self._remarks)
        for depth in range(len(parts) - 1, 0, -1):
            inner, outer = found, sys.modules.get(".".join(parts[:depth]))
            found = _StandIn(failure, self._remarks) if outer is None else _Partial(outer)
            vars(found)[parts[depth]] = inner
        return found

    def _may_stand_in(self, frame: FrameType, name: str, names: Sequence[str], level: int) -> bool:
        is_whole = level == 0 and "*" not in names
        return is_whole and self._is_unguarded_import(frame) and not self._is_given(_package(name))

    def _is_given(self, package: str) -> bool:
        """Return whether a name is that of a file or folder that was handed in, or given."""
        return any(
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
        return frame.f_code.co_filename.startswith(f"{self._submission}/")


# Code that looks on the stack for the importer skips Python's own frames; under this name it skips
# ours, too. To the guard it is the standard library's.
_Import.__call__.__code__ = _Import.__call__.__code__.replace(
    co_filename="<frozen importlib._bootstrap>"
)


def _package(name: str) -> str:
    return name.partition(".")[0]


def _missing_name(module: Any, names: Sequence[str]) -> str:
    """Return the first name that a module does not have; empty if there is none."""
    own = getattr(module, "__name__", "")
    for name in names:
        if name != "*" and not hasattr(module, name) and f"{own}.{name}" not in sys.modules:
            return name
    return ""


def _is_guarded(code: CodeType, instruction: int) -> bool:
    """Return whether an exception of an instruction would be handled in its own code."""
    entries: Any = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined] # it has
    return any(entry.start <= instruction < entry.end for entry in entries)
