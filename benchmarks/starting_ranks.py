"""Starting ranks from the fork server against starting a Python for each, which imports anew.

    python benchmarks/starting_ranks.py

Both start 4 ranks that import the same packages, meet once and answer; in turn, five times.
"""

import socket
import statistics
import subprocess
import sys
import time

import numpy as np

from grader import observing
from grader.model import Array, Outcome
from grader.recording.launch_plan import CaseCall, LaunchPlan
from grader.runner.fork_server import ForkServer
from grader.runner.machine import mpirun

RANKS = 4
ROUNDS = 5
MEET = {
    "mpi": "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n",
    "torch": "import torch.distributed as dist\ndist.init_process_group('gloo')\ndist.barrier()\n",
}
PROBES = """
import numpy as np

def meet(student, comm):
    if hasattr(comm, "Barrier"):
        comm.Barrier()
    else:
        import torch.distributed
        torch.distributed.barrier()
    return {"met": np.ones(())}
"""


def main() -> None:
    """Print the median times of both ways, and their ratio."""
    for words, modules, backend in (
        ("MPI ranks with numpy", ["numpy"], "mpi"),
        ("MPI ranks with torch", ["numpy", "torch"], "mpi"),
        ("gloo processes", ["numpy", "torch"], "torch"),
    ):
        anew_s, forked_s = [], []
        with ForkServer([module for module in modules if module != "numpy"]) as server:
            _forked(server, backend)  # the import, once for a whole grading
            for _ in range(ROUNDS):
                anew_s.append(_timed(lambda m=modules, w=backend: _anew(m, w)))
                forked_s.append(_timed(lambda w=backend, s=server: _forked(s, w)))
        anew, forked = statistics.median(anew_s), statistics.median(forked_s)
        print(
            f"{RANKS} {words:21} anew {anew:5.2f} s, forked {forked:5.2f} s, "
            f"ratio {anew / forked:5.1f}"
        )


def _timed(act) -> float:
    started_s = time.monotonic()
    act()
    return time.monotonic() - started_s


def _anew(modules: list[str], backend: str) -> None:
    """Start processes as a student does, with the settings that make Open MPI start fast."""
    program = "".join(f"import {module}\n" for module in modules) + MEET[backend]
    rank = [sys.executable, "-c", program]
    if backend == "mpi":
        command = [mpirun(), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
        command += ["--mca", "pml", "ob1", "--mca", "btl", "self,sm", "-n", str(RANKS)]
        subprocess.run([*command, *rank], check=True)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS)}
    processes = [
        subprocess.Popen(rank, env={"RANK": str(number), "OMP_NUM_THREADS": "1", **told})
        for number in range(RANKS)
    ]
    if any(process.wait() for process in processes):
        sys.exit("a process failed")


def _forked(server: ForkServer, backend: str) -> None:
    case = CaseCall("meet", "meet", False, ({},) * RANKS, ({"met": Array("float64", ())},) * RANKS)
    plan = LaunchPlan(
        ranks=RANKS,
        cases=(case,),
        probes={"__init__": PROBES},
        backend=backend,
        standalone=False,
        entry="",
        submission={},
        support={},
    )
    launched = observing.launcher(server)(plan)
    (outcome,) = launched.outcomes
    assert isinstance(outcome, Outcome), launched
    assert all(np.all(met == 1) for met in outcome["met"])


if __name__ == "__main__":
    main()
