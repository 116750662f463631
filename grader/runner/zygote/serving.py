"""The zygote's life: import once, then start and end runs as the judge says.

Standard input brings one JSON object a line, `{"run": {...}}` or `{"end": true}`; its closing, by
the judge or by the judge's death, ends the run and the zygote. Standard output tells `ready`,
`mpirun` (its exit status), `rank` with `status`, and `ended`.
"""

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .confinement import adopt_orphans
from .ending import end_all
from .run import Order, Run

_RANK_PACKAGE = "grader_rank"


def serve(rank_source: Path, modules: Sequence[str]) -> None:
    """Serve runs until standard input is closed."""
    adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rank_main = _prepare(rank_source, modules)
    waked, wake = os.pipe()
    os.set_blocking(waked, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _tell({"ready": True})
    run: Run | None = None
    pending = b""
    try:
        while True:
            listener = run.listener if run is not None else None
            sources: list[Any] = [0, waked, *([listener] if listener else [])]
            ready, _, _ = select.select(sources, [], [])
            if waked in ready:
                os.read(waked, 4096)
                _reap(run)
            if run is not None and listener is not None and listener in ready:
                run.accept_stub()
            if 0 in ready:
                data = os.read(0, 1 << 16)
                if not data:
                    return
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    command = json.loads(line)
                    if "run" in command:
                        run = Run(Order(**command["run"]), rank_main)
                    elif run is not None:
                        _end(run)
                        run = None
                        _tell({"ended": True})
    finally:
        if run is not None:
            _end(run)


def _prepare(rank_source: Path, modules: Sequence[str]) -> Callable[[str, int], None]:
    """Import everything a rank needs; return what a rank does."""
    if "mpi4py.MPI" in modules:
        # A rank starts MPI itself, as late as its submission wants it.
        rc = importlib.import_module("mpi4py").rc
        rc.initialize = rc.finalize = False
    # Seeding numpy's random numbers imports the first.
    for module in ("secrets", *modules):
        importlib.import_module(module)
    spec = importlib.util.spec_from_file_location(
        _RANK_PACKAGE, rank_source / "__init__.py", submodule_search_locations=[str(rank_source)]
    )
    assert spec is not None
    sys.modules[_RANK_PACKAGE] = importlib.util.module_from_spec(spec)
    importlib.import_module(f"{_RANK_PACKAGE}.worlds").import_all()
    main: Callable[[str, int], None] = importlib.import_module(f"{_RANK_PACKAGE}.harness").main
    # What is there now stays: no rank has to copy memory only because it was looked at.
    gc.collect()
    gc.freeze()
    return main


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


def _end(run: Run) -> None:
    run.close()
    end_all(run.uid, run.folder)


def _tell(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")
