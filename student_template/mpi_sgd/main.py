"""Train the network on handwritten digits and print run time and accuracy.

python main.py serial
mpirun -n 4 python main.py collective
mpirun -n 4 python main.py sync
mpirun -n 4 python main.py async 2          (2 masters, 2 workers)
"""

import argparse
import os
import random
import time

# One thread per process: the processes share the cores, and a run time by number of processes
# would otherwise compare threads. Must be set before numpy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from collect import load_mnist
from utils import require_connected

SIZES = [784, 128, 64, 10]


def make_network(arguments, rank):
    """Return the network to train; all ranks get equal weights, but draw different batches."""
    settings = {
        "sizes": SIZES,
        "learning_rate": 0.1,
        "mini_batch_size": 16,
        "number_of_batches": arguments.batches,
        "epochs": arguments.epochs,
    }
    np.random.seed(arguments.seed)
    random.seed(1000 * arguments.seed + rank)
    # Each way imports its own file only, so the other files need not work yet.
    if arguments.way == "async":
        from async_network import AsynchronicNeuralNetwork

        return AsynchronicNeuralNetwork(**settings, number_of_masters=arguments.masters)
    if arguments.way == "sync":
        from sync_network import SynchronicNeuralNetwork

        return SynchronicNeuralNetwork(**settings)
    if arguments.way == "collective":
        from sync_network_collective import SynchronicNeuralNetwork

        return SynchronicNeuralNetwork(**settings)
    from network import NeuralNetwork

    return NeuralNetwork(**settings)


def read_arguments():
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("way", choices=["serial", "collective", "sync", "async"])
    parser.add_argument("masters", type=int, nargs="?", default=1, help="for async (default 1)")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batches", type=int, default=632, help="per epoch (default 632)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (default 0)")
    return parser.parse_args()


def started_as():
    """Return the rank and the number of ranks that the launcher set; 0 and 1 without a launcher.

    MPI itself cannot tell: it is initialised only within fit.
    """
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        return int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    if "PMIX_RANK" in os.environ:  # by srun --mpi=pmix
        return int(os.environ["PMIX_RANK"]), int(os.environ["SLURM_STEP_NUM_TASKS"])
    return 0, 1


def main():
    """Train; then rank 0, which ends with the whole network in each way, prints the result."""
    arguments = read_arguments()
    require_connected()
    rank, size = started_as()
    network = make_network(arguments, rank)
    training, validation, test = load_mnist()

    begin_s = time.perf_counter()
    network.fit(training, validation if rank == 0 else None)
    run_time_s = time.perf_counter() - begin_s

    if rank == 0:
        accuracy = network.validate(test) / len(test[0])
        masters = f" (masters: {arguments.masters})" if arguments.way == "async" else ""
        print(
            f"{arguments.way}{masters} on {size} rank{'' if size == 1 else 's'}: "
            f"{run_time_s:.2f} s, {accuracy:.1%} of the test images correct"
        )


if __name__ == "__main__":
    main()
