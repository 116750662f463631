"""Time one all-reduce for several lengths; report the median and the spread of its calls."""

import time
import traceback

import numpy as np
from mpi4py import MPI
from study_point import report, settings

given = settings()
comm = MPI.COMM_WORLD


def function():
    if given["way"] == "naive":
        from my_naive_allreduce import allreduce as found
    elif given["way"] == "ring":
        from my_ring_allreduce import ringallreduce as found
    else:

        def found(send, recv, comm, op):
            comm.Allreduce(send, recv, op=MPI.SUM)

    return found


class WrongResult(Exception):
    """Raised where the sum is not right."""


def check(reduce, length):
    send = np.arange(length) % 97 + comm.Get_rank()
    recv = np.full(length, np.nan)
    reduce(send.astype(float), recv, comm, np.add)
    size = comm.Get_size()
    expected = np.arange(length) % 97 * size + size * (size - 1) / 2
    if not np.array_equal(recv, expected):
        wrong = int(np.flatnonzero(recv != expected)[0])
        raise WrongResult(
            f"on {size} ranks, length {length}, element {wrong} on rank {comm.Get_rank()} is "
            f"{recv[wrong]:g}; expected {expected[wrong]:g}"
        )


def times_s(reduce, length):
    """Return what each call took on the rank that it took longest on."""
    send, recv = np.ones(length), np.empty(length)
    found = []
    end_s = time.perf_counter() + given["time_s"]
    while len(found) < given["num_calls"]:
        comm.Barrier()
        begin_s = time.perf_counter()
        reduce(send, recv, comm, np.add)
        found.append(comm.allreduce(time.perf_counter() - begin_s, op=MPI.MAX))
        if comm.bcast(len(found) >= 3 and time.perf_counter() > end_s):
            break
    return found


def main():
    reduce = function()
    medians_s, lows_s, highs_s = [], [], []
    for length in given["lengths"]:
        check(reduce, length)
        found = times_s(reduce, length)
        medians_s.append(float(np.median(found)))
        lows_s.append(float(np.quantile(found, 0.25)))
        highs_s.append(float(np.quantile(found, 0.75)))
    report(
        comm.Get_rank(),
        lengths=given["lengths"],
        median_s=medians_s,
        quarter_s=lows_s,
        three_quarters_s=highs_s,
    )


try:
    main()
except BaseException:
    traceback.print_exc()
    # The other ranks would wait for ever for one that has stopped.
    comm.Abort(1)
