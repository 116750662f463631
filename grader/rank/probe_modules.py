"""Makes modules of the course's probes. A submission cannot import them, nor they its modules.

A probe runs in the process of the student's code, which may have a module of any name. So probes
are not among sys.modules. Python gives an import statement to the `__import__` in the builtins of
the module that it stands in: those of probes have one that looks among themselves.
"""

import builtins
import functools
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

from . import toolbox

FILES = "<probes"
"""How the file names of all probes begin: no path, so that nobody takes a line of a submission's
file for one of ours. The guard and the recorder of the interposer know them by it."""
_PACKAGE = "probes"
_FIRST = "__init__"
_TOOLBOX = "grader.rank.toolbox"
"""Its name where authors write and test; in a rank, the package around it has another one."""


def load(sources: Mapping[str, str]) -> ModuleType:
    """Run the package that sources make, and return it.

    sources: the text of each module by its name; `__init__` is the package itself. The others run
    when they are first imported: `from .other import name`, at the top or within a function.
    Probes import nothing of grader but `from grader.rank.toolbox import name`. Raises ImportError
    for what they may not import, or have not.
    """
    return _Package(sources).module(_FIRST)


class _Package:
    """The modules that there are by now."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        # All of them now: once the guard is there, nobody makes code that has their names.
        self._codes = compiled(sources)
        self._modules: dict[str, ModuleType] = {}
        self._import_others = builtins.__import__
        self._builtins = {**vars(builtins), "__import__": self._import}

    def module(self, name: str) -> ModuleType:
        """Return a module, which runs when it is first asked for."""
        if name in self._modules:
            return self._modules[name]
        if name not in self._codes:
            raise ModuleNotFoundError(f"probes import .{name}, but there is no probes/{name}.py")
        module = ModuleType(_full_name(name))
        module.__dict__.update(__package__=_PACKAGE, __builtins__=self._builtins)
        # Before it runs: what it imports may ask for it in turn.
        self._modules[name] = module
        try:
            exec(self._codes[name], module.__dict__)  # noqa: S102 - ours
        except BaseException:
            del self._modules[name]
            raise
        if name != _FIRST:
            setattr(self.module(_FIRST), name, module)
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Do what an import statement in a probe asks for, as Python's own `__import__` does."""
        if level == 0 and name.partition(".")[0] not in ("grader", _PACKAGE):
            return self._import_others(name, globals, locals, fromlist or (), level)
        if level == 0 and name == _TOOLBOX and fromlist:
            return toolbox
        if level == 0 and name.partition(".")[0] == _PACKAGE:
            raise ImportError(
                f"probes import {name}, which would be a module of the submission; write: "
                f"from .{name.partition('.')[2] or 'MODULE'} import NAME"
            )
        if level == 0:
            raise ImportError(
                f"probes import {name}; they may import grader only as: from {_TOOLBOX} import NAME"
            )
        if level > 1 or "." in name:
            raise ImportError(
                f"probes import {'.' * level}{name}; every probe module must be directly in probes/"
            )
        if name:
            return self.module(name)
        package = self.module(_FIRST)
        for each in fromlist or ():
            if not hasattr(package, each):
                setattr(package, each, self.module(each))
        return package


def compiled(sources: Mapping[str, str]) -> dict[str, CodeType]:
    """Return the code of each module of the package that sources make: see `load`.

    A rank finds it made where the forkserver has asked for it before: ranks are forked.
    """
    return {name: _compiled(name, text) for name, text in sources.items()}


@functools.cache
def _compiled(name: str, text: str) -> CodeType:
    return compile(text, f"<{_full_name(name)}>", "exec", dont_inherit=True)


def _full_name(name: str) -> str:
    return _PACKAGE if name == _FIRST else f"{_PACKAGE}.{name}"
