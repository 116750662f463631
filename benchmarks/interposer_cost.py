"""What the interposer costs a call: the same loop of mpi4py calls with and without it, in turn.

    python benchmarks/interposer_cost.py

Each loop is Irecv, Isend, Wait, Wait of 8 bytes from a process to itself, so that nothing but the
calls themselves is measured; the interposer records them all, source line included.
"""

import os
import statistics
import subprocess
import sys

from grader.trace import build

CALLS_A_LOOP = 4
LOOPS = 50_000
ROUNDS = 7

LOOP = f"""
import os, sys, time
if sys.argv[1] == "traced":
    from grader.trace.memory import TraceMemory
    memory = TraceMemory.create(1 << 15)
    os.environ["GRADER_TRACE_FD"] = str(os.dup(memory.fd))
import numpy as np
from mpi4py import MPI
here = MPI.COMM_SELF
sent, received = np.ones(1), np.empty(1)
MPI.Pcontrol(1)
best = float("inf")
for _ in range(5):
    started = time.perf_counter_ns()
    for _ in range({LOOPS // 5}):
        incoming = here.Irecv(received, source=0)
        outgoing = here.Isend(sent, dest=0)
        incoming.Wait()
        outgoing.Wait()
    best = min(best, (time.perf_counter_ns() - started) / {LOOPS // 5 * CALLS_A_LOOP})
if sys.argv[1] == "traced":
    assert memory.read(0).attached, "the interposer was not active"
print(best)
"""


def ns_a_call(kind: str) -> float:
    """Return the nanoseconds of one call in a fresh process."""
    # To itself only: no shared-memory segment that would stay behind.
    environment = {**os.environ, "OMPI_MCA_btl": "self"}
    if kind == "traced":
        environment["LD_PRELOAD"] = str(build.library())
    done = subprocess.run(
        [sys.executable, "-c", LOOP, kind], env=environment, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    return float(done.stdout)


def main() -> None:
    """Measure in turn and print the medians."""
    build.library()
    bare, traced = [], []
    for _ in range(ROUNDS):
        bare.append(ns_a_call("bare"))
        traced.append(ns_a_call("traced"))
    added = [t - b for t, b in zip(traced, bare, strict=True)]
    print(f"bare call     {statistics.median(bare):7.0f} ns (min {min(bare):.0f})")
    print(f"traced call   {statistics.median(traced):7.0f} ns (min {min(traced):.0f})")
    print(f"added         {statistics.median(added):7.0f} ns (max {max(added):.0f})")


if __name__ == "__main__":
    main()
