"""Train the network both ways; print time, speed-up and accuracy by number of processes.

python main.py hogwild                      Hogwild with 1, 2, 3, 4 and 5 processes
python main.py psgd                         parallel SGD with as many ranks, each under mpirun
mpirun -n 3 python main.py psgd-ranks       one parallel SGD, on the ranks that there are
python main.py serial                       plain SGD, nothing of yours but the network
"""

import argparse
import os
import subprocess
import sys
import time

# One thread per process: the processes share the cores, and a speed-up would otherwise compare
# threads. Must be set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

# The first optimizer imports this, which takes a second: not in any process's training time.
import torch._dynamo
from network import Net
from torch.utils.data import DataLoader
from training import accuracy, digits, loss


def sgd(model, dataset, *, epochs, lr, batch_size, seed):
    """Train model by plain SGD in this process; return it."""
    order = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for inputs, labels in DataLoader(dataset, batch_size, shuffle=True, generator=order):
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            optimizer.step()
    return model


def read_arguments():
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("way", choices=["serial", "psgd", "psgd-ranks", "hogwild"])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 3, 4, 5], metavar="P")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (default 0)")
    return parser.parse_args()


def settings_of(arguments):
    """Return the arguments that all ways of training share."""
    names = ("epochs", "lr", "batch_size", "seed")
    return {name: getattr(arguments, name) for name in names}


def timed(train, arguments):
    """Call train(model, dataset); return its time in seconds and the accuracy it led to."""
    torch.manual_seed(arguments.seed)
    training_set, test_set = digits()
    begin_s = time.perf_counter()
    model = train(Net(), training_set)
    return time.perf_counter() - begin_s, accuracy(model, test_set)


def time_hogwild(num_processes, arguments):
    """Return time and accuracy of one Hogwild training."""
    from hogwild import hogwild

    settings = settings_of(arguments)
    return timed(lambda *given: hogwild(*given, num_processes=num_processes, **settings), arguments)


def time_psgd(num_processes, arguments):
    """Return time and accuracy of one parallel SGD training, as an mpirun of its own prints it."""
    options = [
        f"--{name.replace('_', '-')}={value}" for name, value in settings_of(arguments).items()
    ]
    command = ["mpirun", "--oversubscribe", "-n", str(num_processes)]
    if os.geteuid() == 0:  # as in Colab
        command.append("--allow-run-as-root")
    command += [sys.executable, __file__, "psgd-ranks", *options]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if said.returncode != 0:
        sys.exit(f"psgd on {num_processes} ranks failed: see above")
    time_s, right = said.stdout.split()[-2:]
    return float(time_s), float(right)


def require_connected():
    """Stop where srun has started several processes that MPI does not connect.

    Open MPI 5 knows nothing of `--mpi=pmi2`: each process would be rank 0 of 1, and train alone.
    """
    number = int(os.environ.get("SLURM_STEP_NUM_TASKS", "1"))
    if number > 1 and not {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"} & os.environ.keys():
        sys.exit(
            f"srun has started {number} processes that do not know of each other: each would be "
            f"rank 0 of 1; start them with: salloc -n {number} mpirun python {sys.argv[0]} ..."
        )


def run_psgd_ranks(arguments):
    """Be one rank of a parallel SGD; rank 0 prints the time and the accuracy."""
    require_connected()
    from mpi4py import MPI
    from psgd import psgd

    comm = MPI.COMM_WORLD
    comm.Barrier()
    time_s, right = timed(lambda *given: psgd(comm, *given, **settings_of(arguments)), arguments)
    if comm.Get_rank() == 0:
        print(f"{time_s:.3f} {right:.4f}")


def print_figures(way, train, arguments):
    """Print a row for every number of processes; the speed-up is against the first of them."""
    print(
        f"{way}, {arguments.epochs} epochs, batches of {arguments.batch_size}, lr {arguments.lr:g}"
    )
    print(f"{'P':>2} {'time':>9} {'speed-up':>9} {'accuracy':>9}")
    first_s = None
    for num_processes in arguments.processes:
        time_s, right = train(num_processes, arguments)
        first_s = first_s or time_s
        print(f"{num_processes:2} {time_s:7.2f} s {first_s / time_s:9.2f} {right:9.1%}", flush=True)


def main():
    """Do what the command line asks for."""
    arguments = read_arguments()
    torch.set_num_threads(1)
    if arguments.way == "psgd-ranks":
        run_psgd_ranks(arguments)
    elif arguments.way == "serial":
        time_s, right = timed(lambda *given: sgd(*given, **settings_of(arguments)), arguments)
        print(f"plain SGD: {time_s:.2f} s, {right:.1%} of the test images right")
    else:
        train = time_hogwild if arguments.way == "hogwild" else time_psgd
        print_figures(arguments.way, train, arguments)


if __name__ == "__main__":
    main()
