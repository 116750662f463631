"""The forkserver's life: import once, then start and end runs as the judge says.

Standard input brings one JSON object a line: `{"run": {...}}`, `{"dump": [rank, ...]}`,
`{"log": true}`, `{"count": true}`, `{"carried": true}`, `{"run_queue_delay": true}` or `{"end":
true}`; its closing, by the judge or by the judge's death, ends the run and the forkserver. Standard
output tells `ready`, `mpirun` (its exit status), `rank` with `status`, `excess` (what the run used
too much of), `run_queue_delay` (for how many seconds the machine has kept the run waiting), `log`,
`counted` (the processes that have shown themselves), `carried` (bytes that went over the loopback;
null where they need not be the run's), `ended` (whether all its files could be removed), `lost`
(the run cannot be trusted any more) and `impossible` (no run can be started here).
"""

import atexit
import contextlib
import gc
import importlib
import importlib.util
import json
import os
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .confinement import adopt_orphans
from .local_sockets import interrupt_waits
from .run import Order, RankMain, Run
from .supervisor import SOMETHING_STAYED
from .system_calls import NoFilter, SystemCallFilter

CompileProbes = Callable[[Mapping[str, str]], object]
_RANK_PACKAGE = "grader_rank"
_TICK_S = 0.05


def serve(rank_source: Path, modules: Sequence[str]) -> None:
    """Serve runs until standard input is closed."""
    adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Nobody reads our last words before we end; what does not fit is not worth waiting for.
    os.set_blocking(2, False)
    rank_main, compile_probes = _prepare(rank_source, modules)
    waked, wake = os.pipe()
    os.set_blocking(waked, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    runs = _Runs(rank_main, compile_probes)
    _tell({"ready": True})
    pending = b""
    try:
        while True:
            run = runs.current
            sources: list[Any] = [0, waked, *(run.sources if run is not None else [])]
            ready, _, _ = select.select(sources, [], [], None if run is None else _TICK_S)
            if run is not None:
                # Before the ends of processes: what they were killed for comes first.
                for message in run.poll():
                    _tell(message)
            if waked in ready:
                os.read(waked, 4096)
                _reap(run)
            if 0 in ready:
                data = os.read(0, 1 << 16)
                if not data:
                    break
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    runs.obey(json.loads(line))
    finally:
        all_removed = runs.end()
    if not all_removed:
        sys.exit(SOMETHING_STAYED)


class _Runs:
    """One run after the other, as the judge orders."""

    def __init__(self, rank_main: RankMain, compile_probes: CompileProbes) -> None:
        self.current: Run | None = None
        self._rank_main = rank_main
        self._compile_probes = compile_probes
        self._system_calls: SystemCallFilter | None = None

    def obey(self, command: dict[str, Any]) -> None:
        """Do what the judge says."""
        if "run" in command:
            self._start(Order(**command["run"]))
        elif "end" in command:
            _tell({"ended": self.end()})
        elif "log" in command:
            _tell({"log": self.current.log() if self.current is not None else ""})
        elif "count" in command and self.current is not None:
            _tell({"counted": self.current.census()})
        elif "carried" in command and self.current is not None:
            _tell({"carried": self.current.carried_num_bytes()})
        elif "run_queue_delay" in command and self.current is not None:
            _tell({"run_queue_delay": self.current.run_queue_delay_s()})
        elif "dump" in command and self.current is not None:
            self.current.dump_stacks(command["dump"])

    def _start(self, order: Order) -> None:
        try:
            if order.uid is not None and self._system_calls is None:
                self._system_calls = SystemCallFilter()
        except NoFilter as error:
            _tell({"impossible": str(error)})
            return
        interrupt_waits()
        # Once for all ranks. What is wrong with a probe is a rank's to tell.
        with contextlib.suppress(SyntaxError, ValueError):
            self._compile_probes(order.probes)
        self.current = Run(order, self._rank_main, self._system_calls)

    def end(self) -> bool:
        """End the run, if there is one; return whether everything of it could be removed."""
        run, self.current = self.current, None
        try:
            return run is None or run.end()
        finally:
            interrupt_waits(0)


def _prepare(rank_source: Path, modules: Sequence[str]) -> tuple[RankMain, CompileProbes]:
    """Import everything a rank needs; return what a rank does, and what compiles its probes."""
    # Hardly anything that is imported is rubbish, and to look for it takes a quarter of the time.
    gc.disable()
    if "mpi4py.MPI" in modules:
        # A rank starts MPI itself, as late as its submission wants it.
        rc = importlib.import_module("mpi4py").rc
        rc.initialize = rc.finalize = False
    if os.getuid() == 0:
        _share_settings_of_matplotlib()
    # What numpy imports when somebody wants random numbers, and what seeding them imports: every
    # rank would.
    for module in ("numpy.random", "secrets", *modules):
        importlib.import_module(module)
    spec = importlib.util.spec_from_file_location(
        _RANK_PACKAGE, rank_source / "__init__.py", submodule_search_locations=[str(rank_source)]
    )
    assert spec is not None
    sys.modules[_RANK_PACKAGE] = importlib.util.module_from_spec(spec)
    importlib.import_module(f"{_RANK_PACKAGE}.backends").import_all()
    main: RankMain = importlib.import_module(f"{_RANK_PACKAGE}.harness").main
    probe_modules = importlib.import_module(f"{_RANK_PACKAGE}.probe_modules")
    compile_probes: CompileProbes = probe_modules.compiled
    # What is there now stays: no rank has to copy memory only because it was looked at.
    gc.freeze()
    gc.enable()
    return main, compile_probes


def _share_settings_of_matplotlib() -> None:
    """Let ranks, who are somebody else, read the folder that matplotlib remembers from here."""
    folder = tempfile.mkdtemp(prefix="matplotlib-")
    os.chmod(folder, 0o755)  # noqa: PTH101, S103 - it stays empty
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["MPLCONFIGDIR"] = folder


def _reap(run: Run | None) -> None:
    """Take note of every child that has ended."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            told = run.ended(pid, status) if run is not None else None
            if told is not None:
                _tell(told)


def _tell(message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    # Of a judge that has died, the end of standard input tells: the run is still ended in order.
    with contextlib.suppress(BrokenPipeError):
        # A signal, as that of interrupt_waits, may end a write early.
        while data:
            data = data[os.write(1, data) :]
