"""Small plans for tests of the runner: a probe calls `go(comm)` of a one-file submission."""

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from grader.judge.explanation.launch_result import LaunchResult, explain
from grader.model.report import Array
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.observe.run_control.launch import launch
from grader.observe.run_control.watch import OnSilent
from grader.recording.launch_plan import (
    MOST_TRACE_NUM_BYTES,
    CaseCall,
    LaunchAllowance,
    LaunchPlan,
    Limits,
)
from grader.recording.observation import LaunchObservation

PROBES = """
import numpy as np

def call(student, comm, *, number):
    function = student.function("work.py", "go")
    with student.phase():
        value = function(comm)
    return {"value": np.asarray(float(value if value is not None else number))}

def script(student, comm):
    return {"value": np.asarray(float(student.script("work.py", "--number", "3")["answer"]))}

def node_script(student, comm):
    flags = ["--master-ip", comm.address, "--num-nodes", str(comm.size), "--rank", str(comm.rank)]
    return {"value": np.asarray(float(student.script("work.py", *flags)["answer"]))}

def started_nodes(student, comm):
    flags = ["--master-ip", comm.be_nodes(), "--rank", str(comm.rank)]
    return {"value": np.asarray(float(student.script("work.py", *flags)["answer"]))}

def bare_script(student, comm):
    return {"value": np.asarray(float(student.script("work.py")["answer"]))}
"""


def case(label: str = "once", ranks: int = 2, probe: str = "call", **options: Any) -> CaseCall:
    """Return a case that expects one number from each rank."""
    inputs = tuple({"number": rank} if probe == "call" else {} for rank in range(ranks))
    expected = tuple({"value": Array("float64", ())} for _ in range(ranks))
    return CaseCall(
        label,
        probe,
        options.get("synchronous_sends", False),
        inputs,
        expected,
        message_fault=options.get("message_fault"),
        is_timed=options.get("is_timed", False),
    )


def observe(
    source: str | bytes,
    *,
    ranks: int = 2,
    cases: tuple[CaseCall, ...] | None = None,
    limits: Limits | None = None,
    uid: int | None = None,
    standalone: bool = False,
    backend: str = "mpi",
    server: ForkserverClient | None = None,
    files: Mapping[str, str] | None = None,
    support: Mapping[str, str] | None = None,
    folders: tuple[str, ...] = (),
    modules: tuple[str, ...] = (),
    guarded: bool = True,
    confined: bool = True,
    windows: bool = False,
    most_trace_num_bytes: int = MOST_TRACE_NUM_BYTES,
    probes: Mapping[str, str] | None = None,
    on_silent: OnSilent | None = None,
) -> tuple[LaunchPlan, LaunchObservation]:
    """Put a submission to ranks whose file `work.py` is `source`; files: others beside it.

    support: files that the assignment gives. probes: their sources by module, instead of PROBES.
    modules: what the ranks have imported, where no server is given. on_silent: as of launch.
    """
    content = source if isinstance(source, bytes) else textwrap.dedent(source).encode()
    others = {name: textwrap.dedent(text).encode() for name, text in (files or {}).items()}
    plan = LaunchPlan(
        ranks=ranks,
        cases=cases or (case(ranks=ranks),),
        probes=probes or {"__init__": PROBES},
        backend=backend,
        standalone=standalone,
        entry="go(comm)",
        submission={"work.py": content, **others},
        folders=folders,
        support={name: text.encode() for name, text in (support or {}).items()},
        limits=limits or Limits(),
        guarded=guarded,
        confined=confined,
        windows=windows,
        allowance=LaunchAllowance(trace_num_bytes=most_trace_num_bytes),
    )
    if server is not None:
        return plan, launch(plan, server, uid=uid, on_silent=on_silent)
    with ForkserverClient(modules) as own_server:
        return plan, launch(plan, own_server, uid=uid, on_silent=on_silent)


def run(source: str | bytes, **options: Any) -> LaunchResult:
    """Return what came of a submission; options: those of observe."""
    return explain(*observe(source, **options))


def values(launched: LaunchResult, index: int = 0) -> list[float]:
    """Return the number each rank answered with."""
    outcome = launched.outcomes[index]
    return [float(np.asarray(value)) for value in outcome["value"]]  # type: ignore[index]
