"""Remarks on lines of a submission, which cost no points, and what is left out with one.

Debuggers are, where nobody types: `breakpoint()` does nothing, pdb ends the case. So are programs
whose output nobody reads.
"""

import bdb
import os
import pdb
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, NoReturn

_NOT_FOUND = 127
"""What a shell ends with that does not find its program."""
_STANDARD = f"{sysconfig.get_path('stdlib')}/"


class Remarks:
    """Kinds of remarks, what each is about, and the line: of each line one is enough."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, int], None] = {}

    def add(self, kind: str, about: str, file: str, line: int) -> None:
        """Keep a remark. kind: one that judge.explanation words; about: an imported module."""
        self._found[kind, about, file, line] = None

    def take_back(self, kind: str, about: str, file: str, line: int) -> None:
        """Forget a remark that is no longer true."""
        self._found.pop((kind, about, file, line), None)

    def listed(self, submission: str) -> list[tuple[str, str, str, int]]:
        """Return all of them; files are named by their paths below the submission."""
        return [
            (kind, about, file.removeprefix(f"{submission}/"), line)
            for kind, about, file, line in self._found
        ]


def leave_out_debuggers(remarks: Remarks) -> None:
    """Have no debugger start in this process; remark each line that calls `breakpoint()`."""

    def go_on(*_: Any, **__: Any) -> None:
        caller = sys._getframe(1)
        remarks.add("breakpoint", "", caller.f_code.co_filename, caller.f_lineno)

    sys.breakpointhook = go_on
    pdb.set_trace = _end


def _end(*_: Any, **__: Any) -> NoReturn:
    """Raise what pdb raises by itself in the line after, where it finds nobody who types."""
    raise bdb.BdbQuit


def leave_out_programs(remarks: Remarks, submission: Path) -> None:
    """Have calls in files of the submission end as if their program were not found.

    Each line is remarked. Who connects a pipe uses the program: that is left to the guard.
    """
    run, start = os.system, subprocess.Popen._execute_child  # type: ignore[attr-defined]

    def is_left_out(kind: str) -> bool:
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_STANDARD):
            frame = frame.f_back
        file = frame.f_code.co_filename
        is_theirs = file.startswith(f"{submission}/")
        if is_theirs:
            remarks.add(kind, "", file, frame.f_lineno)
        return is_theirs

    def system(command: Any) -> int:
        return _NOT_FOUND << 8 if is_left_out("system") else run(command)

    def execute(popen: Any, *given: Any) -> None:
        has_pipe = popen.stdin or popen.stdout or popen.stderr
        if has_pipe or not is_left_out("subprocess"):
            start(popen, *given)
            return
        popen.returncode = _NOT_FOUND
        if hasattr(popen, "_devnull"):
            os.close(popen._devnull)

    os.system = system
    subprocess.Popen._execute_child = execute  # type: ignore[attr-defined]
