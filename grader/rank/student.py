"""The student's files as a probe sees them: modules, scripts, and the phase under test."""

import argparse
import builtins
import contextlib
import functools
import importlib
import inspect
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from .toolbox import replaced


@contextlib.contextmanager
def either_spelling(respelt: dict[str, str]) -> Iterator[None]:
    """Give every parser its own spelling of the options on the command line, for a while.

    What a parser understands without that, abbreviations included, it gets as it was given.
    respelt: gets each option that was given in another spelling, and the parser's own.
    """
    parse = argparse.ArgumentParser.parse_known_args

    # The one function that parse_args, the intermixed ones and subparsers call.
    @functools.wraps(parse)
    def parse_known_args(parser: Any, args: Any = None, *others: Any, **named: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        return parse(parser, _in_own_spelling(parser, words, respelt), *others, **named)

    with replaced(argparse.ArgumentParser, "parse_known_args", parse_known_args):
        yield


def _in_own_spelling(parser: Any, words: Sequence[Any], respelt: dict[str, str]) -> list[Any]:
    """Return the words of a command line as a parser spells its options, up to a `--`."""
    end = words.index("--") if "--" in words else len(words)
    own = list(words)
    for number, word in enumerate(words[:end]):
        name, *value = word.split("=", 1) if isinstance(word, str) else ("",)
        spelt = _own_name(parser, name) if name.startswith("--") else name
        if spelt != name:
            respelt[name] = spelt
            own[number] = "=".join((spelt, *value))
    return own


def _own_name(parser: Any, name: str) -> str:
    """Return what a parser calls an option; the name as it is, where that is not one option."""
    defined = list(parser._option_string_actions)
    same = [each for each in defined if _folded(each) == _folded(name)]
    if parser.allow_abbrev:
        if any(each.startswith(name) for each in defined):
            return name
        same = same or [each for each in defined if _folded(each).startswith(_folded(name))]
    return same[0] if len(same) == 1 else name


def _folded(name: str) -> str:
    return name.replace("_", "-")


class NotDefined(Exception):
    """A file does not define the function or class that the assignment asks for."""


class Student:
    """One submission, imported at most once in this process."""

    def __init__(self, mark_phase: Callable[[int], None], *, leaves_messages: bool = False) -> None:
        """mark_phase: tells the trace which phase begins: 0 outside, 1 counted, 2 paused.

        leaves_messages: messages that a call leaves under way go on after it has returned, so the
        arrays it was given must stay, as they do in a program.
        """
        self.mark_phase = mark_phase
        self.command: tuple[str, ...] = ()
        """The command of the script that runs or has raised; empty for no script."""
        self.respelt: dict[str, str] = {}
        """Options of the last script's command line that its argparse spells with `_` for `-`, or
        the reverse: each as it was given, and as argparse has it."""
        self._level = 0
        self._leaves_messages = leaves_messages
        self._kept: list[object] = []
        """What the last call was given, or the globals of the last script."""

    def module(self, file: str) -> ModuleType:
        """Return the module of a handed-in file such as `my_ring_allreduce.py`."""
        self.command = ()
        path = _find(file)
        return importlib.import_module(path.stem)

    def function(self, file: str, name: str) -> Any:
        """Return what the student's file calls `name`.

        Raises NotDefined when the file has no such name or it cannot be called.
        """
        module = self.module(file)
        # To find an attribute, a module may run code of the student's.
        with self.phase():
            found = getattr(module, name, None)
        if not callable(found):
            defined = sorted(
                key
                for key, value in vars(module).items()
                if callable(value) and getattr(value, "__module__", None) == module.__name__
            )
            raise NotDefined(
                f"{file} does not define {name}; it defines {', '.join(defined) or 'nothing'}"
            )
        return found

    def script(self, file: str, *arguments: str) -> dict[str, Any]:
        """Run a handed-in file as `python file arguments...` does; return its globals.

        A script may end itself with status 0. Raises SystemExit for any other status.
        """
        path = str(_find(file))
        self.command = ("python", Path(file).name, *arguments)
        self.respelt = {}
        main = ModuleType("__main__")
        main.__dict__.update(__file__=path, __builtins__=builtins)
        before = sys.argv, sys.modules["__main__"]
        sys.argv, sys.modules["__main__"] = [path, *arguments], main
        try:
            with either_spelling(self.respelt), io.open_code(path) as source:
                exec(compile(source.read(), path, "exec"), main.__dict__)  # noqa: S102 - our task
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
        finally:
            sys.argv, sys.modules["__main__"] = before
            if self._leaves_messages:
                self._kept = [main]
        self.command = ()
        return main.__dict__

    def phase(self) -> contextlib.AbstractContextManager[None]:
        """Mark the calls that the rules of the part count."""
        return self._marked(1)

    def outside(self) -> contextlib.AbstractContextManager[None]:
        """Inside a phase: let the probe itself communicate or wait, unseen by the rules."""
        return self._marked(2)

    @contextlib.contextmanager
    def _marked(self, level: int) -> Iterator[None]:
        before, self._level = self._level, level
        self.mark_phase(level)
        try:
            yield
        finally:
            self._level = before
            self.mark_phase(before)
            if self._leaves_messages:
                self._kept = _held_by_callers(inspect.currentframe())


def _held_by_callers(frame: FrameType | None) -> list[object]:
    """Return what the functions that a frame was called from hold in variables."""
    held: list[object] = []
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
        held += frame.f_locals.values()
    return held


def _find(file: str) -> Path:
    """Return the path of a handed-in file; its own folder can be imported from afterwards."""
    path = next(
        folder / file for folder in map(Path, reversed(sys.path)) if (folder / file).is_file()
    )
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    return path
