"""Synchronous data-parallel training; an MPI collective sums the gradients."""

import mpi4py
import numpy as np
from network import NeuralNetwork

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


class SynchronicNeuralNetwork(NeuralNetwork):
    """A network of which every rank holds a copy; all copies take the same steps."""

    def fit(self, training_data, validation_data=None):
        """Train on all ranks of COMM_WORLD; each takes its part of every batch.

        A step uses the sum (not the mean) of all ranks' gradients, so n ranks with batches of
        mini_batch_size // n train like one process with the union of their batches.
        The ranks must start with equal weights.
        """
        MPI.Init()
        comm = MPI.COMM_WORLD
        rank = comm.Get_rank()
        size = comm.Get_size()

        data, labels = training_data
        for epoch in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size // size):
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)

                nabla_b = []
                nabla_w = []
                for mine, summed in ((my_nabla_b, nabla_b), (my_nabla_w, nabla_w)):
                    for gradient in mine:
                        total = np.zeros_like(gradient)
                        comm.Reduce(gradient, total, op=MPI.SUM, root=0)
                        comm.Bcast(total, root=0)
                        summed.append(total)

                self.weights = [
                    w - self.eta * dw for w, dw in zip(self.weights, nabla_w, strict=True)
                ]
                self.biases = [
                    b - self.eta * db for b, db in zip(self.biases, nabla_b, strict=True)
                ]

                for array in [*self.weights[1:], *self.biases[1:]]:
                    comm.Bcast(array, root=0)  # rounding must not drive the networks apart

            if rank == 0:
                self.print_progress(validation_data, epoch)

        MPI.Finalize()
