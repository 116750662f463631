"""Train by parallel SGD on the ranks there are; report time and accuracy."""

import time
import traceback
from pathlib import Path

import torch
import torch._dynamo  # which the first optimizer imports: not in anybody's training time
from mpi4py import MPI
from psgd import psgd
from study_point import report, settings
from training import accuracy, digits

if Path("network.py").is_file():
    from network import Net

    NETWORK = "own"
else:  # measured all the same, and said
    from plain_network import Net

    NETWORK = "plain"

given = settings()
comm = MPI.COMM_WORLD


def main():
    torch.set_num_threads(1)
    training_set, test_set = digits()
    torch.manual_seed(given["repeat"])
    options = {name: given[name] for name in ("epochs", "lr", "batch_size")}
    model = Net()
    comm.Barrier()
    begin_s = time.perf_counter()
    model = psgd(comm, model, training_set, seed=100 * given["repeat"], **options)
    comm.Barrier()
    time_s = time.perf_counter() - begin_s
    report(
        comm.Get_rank(),
        time_s=time_s,
        accuracy=accuracy(model, test_set),
        parameters=sum(parameter.abs().sum().item() for parameter in model.parameters()),
        network=NETWORK,
        epochs=given["epochs"],
    )


try:
    main()
except BaseException:
    traceback.print_exc()
    # The other ranks would wait for ever for one that has stopped.
    comm.Abort(1)
