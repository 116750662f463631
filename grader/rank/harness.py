"""The process around the probe in each rank: takes cases, runs them, sends bytes back."""

import contextlib
import faulthandler
import io
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import (
    backends,
    exception_report,
    guard,
    missing_packages,
    probe_modules,
    wire,
)
from .import_finder import OwnModules
from .remarks import Remarks, leave_out_debuggers, leave_out_programs
from .student import Student


class SubmissionOutput(io.TextIOWrapper):
    """Standard output that drops what code in one folder prints by itself.

    A student who looks for the cause of a failure in the last lines wants none that others wrote.
    """

    def __init__(self, replaced: io.TextIOWrapper, dropped: Path) -> None:
        """replaced: takes no text afterwards. dropped: folder of the files that print nothing."""
        encoding, errors = replaced.encoding, replaced.errors
        super().__init__(replaced.detach(), encoding, errors, line_buffering=True)
        self._dropped = f"{dropped}/"

    def write(self, text: str) -> int:
        """Write a text, unless the code that asks for it lies in the folder."""
        if sys._getframe(1).f_code.co_filename.startswith(self._dropped):
            return len(text)
        return super().write(text)


def main(socket_path: str, rank: int, confine_student: Callable[..., Any]) -> None:
    """Serve one rank from its first word to the judge until the judge ends the run.

    confine_student: leaves this rank a folder of its own, and the connections that it has.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(socket_path)
    wire.send(connection, "hello", {"rank": rank})
    trace, output, stacks, gloo_counts = wire.receive_descriptors(connection, 4)
    _, setup, _ = wire.receive(connection)
    _take_over(output, stacks, Path(setup["support"]))
    sys.path += [setup["support"], setup["submission"]]
    sys.meta_path.append(OwnModules(Path(setup["submission"])))
    sys.dont_write_bytecode = True
    probes = probe_modules.load(setup["probes"])
    folders = Path(setup["submission"]), Path(setup["support"])
    remarks = missing_packages.install(*folders)
    leave_out_debuggers(remarks)
    if setup["windows"]:
        os.environ["GRADER_WINDOWS"] = "1"  # for the guard
    if setup["guarded"]:
        leave_out_programs(remarks, folders[0])
        guard.set_up(trace, Path(setup["support"]))
    backend = backends.enter(setup, rank, trace, gloo_counts)
    os.close(gloo_counts)  # nobody maps it a second time
    if setup["confined"]:
        world = backend.world if setup["ranks"] > 1 else ""
        confine_student(world=world, windows=setup["windows"])
    student = Student(backend.mark_phase, leaves_messages=backend.leaves_messages)
    home = Path.cwd()
    for folder in setup["folders"]:
        with contextlib.suppress(OSError):
            (home / folder).mkdir(parents=True, exist_ok=True)
    while True:
        # Not before the results of the last case have been sent: they are what the call left.
        backend.progress_until_readable(connection)
        kind, case, _ = wire.receive(connection)
        if kind == "end":
            os._exit(0)
        probe = getattr(probes, case["probe"])
        os.chdir(home)
        communicator = backend.begin_case()
        wire.send(connection, "ready")
        _, given, arrays = wire.receive(connection)
        arguments = {**given["values"], **arrays}
        _answer(connection, folders, probe, student, communicator, arguments, remarks)


def _answer(
    connection: socket.socket,
    folders: tuple[Path, Path],
    probe: Any,
    student: Student,
    communicator: Any,
    arguments: dict[str, Any],
    remarks: Remarks,
) -> None:
    """Run one case and send its results, or what the student's code raised.

    folders: where the submission lies, and what was given beside it. remarks: on lines of the
    submission, sent with the results.
    """
    try:
        results: Mapping[str, Any] = probe(student, communicator, **arguments)
        student.mark_phase(0)  # what was sent is counted up to here
        values, arrays = sort_results(results)
        values["remarks"] = remarks.listed(str(folders[0]))
    except BaseException as error:
        wire.send(
            connection, "problem", exception_report.describe(error, *folders, student.command)
        )
        return
    wire.send(connection, "finished")
    wire.send(connection, "result", values, arrays)


def sort_results(results: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a probe's results as (values, arrays); what is neither array nor text is named."""
    texts = {name: value for name, value in results.items() if isinstance(value, str)}
    arrays = {name: np.asarray(value) for name, value in results.items() if name not in texts}
    for name in [name for name, array in arrays.items() if array.dtype.kind not in "biufc"]:
        dtype, kind = arrays.pop(name).dtype, type(results[name])
        is_array = issubclass(kind, np.ndarray)
        texts[name] = f"an array of {dtype}" if is_array else f"an object of type {kind.__name__}"
    return {"texts": texts}, arrays


def _take_over(output: int, stacks: int, support: Path) -> None:
    """Send stdout and stderr to the judge's file, and stack dumps on SIGUSR1 to another."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    sys.stdout = sys.__stdout__ = SubmissionOutput(sys.stdout, support)  # type: ignore[arg-type, misc]
    # Of this thread only: another one may run meanwhile, and its frames be freed as they are read.
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=False)
    faulthandler.enable(file=stacks)
