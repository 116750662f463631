"""Compare both all-reduces with MPI's own: are the results correct, and how long do they take?

    mpirun -n 4 python allreduce_test.py            (or: ... allreduce_test.py 1000 4096 65536)

Bus bandwidth is 2 (n-1)/n S / t for n ranks and S bytes in t seconds: the least that each rank must
send, divided by the time. The best figure possible is close to the machine's bandwidth.
"""

import sys
import time

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import
from my_naive_allreduce import allreduce  # noqa: E402 - as above
from my_ring_allreduce import ringallreduce  # noqa: E402 - as above
from utils import require_connected  # noqa: E402 - as above

DEFAULT_LENGTHS = [1, 7, 1000, 2**13, 2**16, 2**19]
OPERATIONS = [(np.add, MPI.SUM), (np.maximum, MPI.MAX)]
NUM_REPEATS = 5


def mpi_allreduce(send, recv, comm, op):
    """Do the same with the collective of MPI: the yardstick."""
    comm.Allreduce(send, recv, op=dict(OPERATIONS)[op])


def check(function, length, comm):
    """Return the ranks on which `function` differs from MPI's all-reduce of `length` numbers."""
    # Whole numbers, so that sums are exact in any order.
    send = np.random.default_rng(comm.Get_rank()).integers(-99, 100, size=length).astype(float)
    right = True
    for op, _ in OPERATIONS:
        recv, expected = np.full_like(send, np.nan), np.empty_like(send)
        before = send.copy()
        mpi_allreduce(send, expected, comm, op)
        function(send, recv, comm, op)
        right = right and np.array_equal(recv, expected) and np.array_equal(send, before)
    return [rank for rank, fine in enumerate(comm.allgather(right)) if not fine]


def measure_s(function, length, comm):
    """Return the seconds of the best of a few sums of `length` float64, on the slowest rank."""
    send, recv = np.ones(length), np.empty(length)
    best = np.inf
    for _ in range(NUM_REPEATS):
        comm.Barrier()
        begin_s = time.perf_counter()
        function(send, recv, comm, np.add)
        best = min(best, comm.allreduce(time.perf_counter() - begin_s, op=MPI.MAX))
    return best


def describe(function, length, comm):
    """Return one cell of the table: time and bus bandwidth, or what is wrong."""
    try:
        wrong = check(function, length, comm)
    except NotImplementedError:
        return "not written yet"
    if wrong:
        return f"WRONG on rank {', '.join(map(str, wrong))}"
    seconds, size = measure_s(function, length, comm), comm.Get_size()
    bandwidth = 2 * (size - 1) / size * 8 * length / seconds
    return f"{seconds * 1e6:9.0f} us {bandwidth / 1e6:8.1f} MB/s"


def main():
    """Print one line per array length."""
    require_connected()
    MPI.Init()
    comm = MPI.COMM_WORLD
    lengths = [int(argument) for argument in sys.argv[1:]] or DEFAULT_LENGTHS
    functions = [("naive", allreduce), ("ring", ringallreduce), ("MPI.Allreduce", mpi_allreduce)]

    def say(*cells):
        if comm.Get_rank() == 0:
            print(f"{cells[0]:>10}", *(f"{cell:>26}" for cell in cells[1:]), flush=True)

    say("float64", *(name for name, _ in functions))
    try:
        for length in lengths:
            say(length, *(describe(function, length, comm) for _, function in functions))
    except Exception:
        # The other ranks would wait forever for one that has stopped.
        sys.excepthook(*sys.exc_info())
        comm.Abort(1)
    MPI.Finalize()


if __name__ == "__main__":
    main()
