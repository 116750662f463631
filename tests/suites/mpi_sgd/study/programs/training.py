"""Train the network in one of the four ways; report time, accuracy, and how old gradients were."""

import os
import random
import time

import mpi4py
import numpy as np
from collect import load_mnist
from study_point import report, settings

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import

SIZES = [784, 128, 64, 10]
given = settings()
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
clock = {}


def base_class():
    if given["way"] == "serial":
        from network import NeuralNetwork as Base
    elif given["way"] == "collective":
        from sync_network_collective import SynchronicNeuralNetwork as Base
    elif given["way"] == "ring":
        from sync_network import SynchronicNeuralNetwork as Base
    else:
        from async_network import AsynchronicNeuralNetwork as Base
    return Base


def watched(base):
    """Return the network's class, in which each step counts itself in a bias that nobody uses.

    The input layer has biases that take part in nothing but the updates. With a gradient of one,
    they hold -eta times the number of steps that the parameters have seen.
    """

    class Watched(base):
        def forward_prop(self, x):
            if len(x) == self.mini_batch_size:
                steps_seen.append(-float(np.asarray(self.biases[0]).flat[0]) / self.eta)
            return super().forward_prop(x)

        def back_prop(self, y):
            nabla_b, nabla_w = super().back_prop(y)
            nabla_b[0][...] = 1
            return nabla_b, nabla_w

    steps_seen = []
    return Watched, steps_seen


def without_start_and_end():
    """Take the time between MPI.Init and MPI.Finalize: starting processes is no training."""
    init, finalize = MPI.Init, MPI.Finalize

    def timed_init():
        init()
        MPI.COMM_WORLD.Barrier()
        clock["begin_s"] = time.perf_counter()

    def timed_finalize():
        clock["end_s"] = time.perf_counter()
        finalize()

    MPI.Init, MPI.Finalize = timed_init, timed_finalize


def main():
    is_async = given["way"] == "async"
    base, steps_seen = watched(base_class()) if is_async else (base_class(), [])
    options = {"number_of_masters": given["masters"]} if is_async else {}
    np.random.seed(given["repeat"])
    random.seed(1000 * given["repeat"] + rank)
    network = base(
        sizes=SIZES,
        learning_rate=given["learning_rate"],
        mini_batch_size=given["batch_size"],
        number_of_batches=given["batches"],
        epochs=given["epochs"],
        **options,
    )
    training, _, test = load_mnist()
    without_start_and_end()
    clock["begin_s"] = time.perf_counter()
    network.fit(training, None)
    clock.setdefault("end_s", time.perf_counter())

    with np.errstate(over="ignore", invalid="ignore"):
        accuracy = network.validate(test) / len(test[0])
    time_s = clock["end_s"] - clock["begin_s"]
    num_steps = given["batches"] * given["epochs"]
    staleness = np.diff(steps_seen) - 1
    report(
        rank,
        time_s=time_s,
        num_steps=num_steps,
        step_s=time_s / num_steps,
        accuracy=accuracy,
        staleness=[round(float(each)) for each in staleness if np.isfinite(each)],
        parameters=float(sum(np.abs(weights).sum() for weights in network.weights[1:])),
    )


main()
