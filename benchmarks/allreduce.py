"""Our reference ring against our reference naive exchange and MPI_Allreduce, over array sizes.

    python benchmarks/allreduce.py [RANKS...]      (default: 2 4)

The three take turns on the same arrays within one job; the table gives the best of several rounds
and the ratios, which is all that a shared machine can promise.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NUM_BYTES = [8, 1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22, 1 << 25]

JOB = f"""
import json, sys, time
sys.path.insert(0, {str(ROOT / "reference" / "mpi_sgd")!r})
from mpi4py import MPI
import numpy as np
from my_naive_allreduce import allreduce
from my_ring_allreduce import ringallreduce
world = MPI.COMM_WORLD
ways = {{
    "ring": lambda send, recv: ringallreduce(send, recv, world, np.add),
    "naive": lambda send, recv: allreduce(send, recv, world, np.add),
    "mpi": lambda send, recv: world.Allreduce(send, recv),
}}
for num_bytes in {NUM_BYTES}:
    send = np.full(num_bytes // 8, world.rank + 1.0)
    recv = np.empty_like(send)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(max(3, min(30, (1 << 24) // num_bytes))):
        for name, way in ways.items():
            world.Barrier()
            started = time.perf_counter()
            way(send, recv)
            took = world.allreduce(time.perf_counter() - started, op=MPI.MAX)
            best[name] = min(best[name], took)
            assert (recv == world.size * (world.size + 1) / 2).all()
    if world.rank == 0:
        print(json.dumps([num_bytes, best]), flush=True)
"""


def main() -> None:
    """Print one table for each number of ranks."""
    beside = Path(sys.executable).parent / "mpirun"
    mpirun = str(beside) if beside.is_file() else shutil.which("mpirun")
    for ranks in sys.argv[1:] or ["2", "4"]:
        command = [mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
        command += ["--mca", "pml", "ob1", "--mca", "btl", "self,sm"]
        command += ["--mca", "mpi_yield_when_idle", "1", "-n", ranks]
        done = subprocess.run([*command, sys.executable, "-c", JOB], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        print(f"{ranks} ranks, microseconds (best)")
        columns = ("bytes", "MPI", "ring", "naive", "ring/MPI", "naive/ring")
        print(" ".join(f"{column:>10}" for column in columns))
        for line in done.stdout.splitlines():
            num_bytes, best = json.loads(line)
            mpi, ring, naive = (1e6 * best[name] for name in ("mpi", "ring", "naive"))
            print(
                f"{num_bytes:>10} {mpi:>10.1f} {ring:>10.1f} {naive:>10.1f} "
                f"{ring / mpi:>10.2f} {naive / ring:>10.2f}"
            )


if __name__ == "__main__":
    main()
