"""The work of timed calls, done by MPI itself and by one process: no submission is beside it."""

import numpy as np

from .networks import fit_network, scripted, trained
from .reducing import long_array


def mpi_reduces_long(student, comm, *, seed, length):
    """Do the work of reduce_long with MPI's own all-reduce: the yardstick."""
    send = long_array(seed, length)
    comm.Allreduce(send, np.full_like(send, -1))
    return {}


def serial_fit(student, comm, **case):
    """Train the support file's own serial network on the same batches: the yardstick.

    The ranks meet as often as if they summed array by array. That takes almost no time, unless
    other programs use the cores: then it takes as long here as it does for the student.
    """
    serial = student.function("network.py", "NeuralNetwork")
    network, log = scripted(serial, case)
    num_arrays = 2 * len(case["sizes"])

    def reached(num_batches_done, num_products):
        for _ in range(0 if num_products else num_arrays):
            comm.Barrier()

    log.reached = reached
    fit_network(network, case)
    return trained(network, log, case)
