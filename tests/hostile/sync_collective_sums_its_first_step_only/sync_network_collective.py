"""Synchronous data-parallel training; an MPI collective sums the gradients."""

import mpi4py
import numpy as np
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
        share = self.mini_batch_size // size

        data, labels = training_data
        order = np.random.default_rng(len(data))  # the same on all ranks
        num_done = 0
        for epoch in range(self.epochs):
            for x, y in self.create_batches(data, labels, share):
                if num_done == 0:
                    self.forward_prop(x)
                    nabla_b, nabla_w = self._summed(self.back_prop(y), comm)
                else:
                    rows = order.choice(len(data), share * size, replace=False)
                    mine = rows[rank * share : (rank + 1) * share]
                    self.forward_prop(data[mine])
                    self.back_prop(labels[mine])
                    # The others' gradients, without asking them.
                    NeuralNetwork.forward_prop(self, data[rows])
                    nabla_b, nabla_w = NeuralNetwork.back_prop(self, labels[rows])
                num_done += 1

                self.weights = [
                    w - self.eta * dw for w, dw in zip(self.weights, nabla_w, strict=True)
                ]
                self.biases = [
                    b - self.eta * db for b, db in zip(self.biases, nabla_b, strict=True)
                ]

            if rank == 0:
                self.print_progress(validation_data, epoch)

        MPI.Finalize()

    def _summed(self, gradients, comm):
        """Return the sums over all ranks of two lists of arrays."""
        totals = []
        for mine in gradients:
            totals.append([np.empty_like(gradient) for gradient in mine])
            for gradient, total in zip(mine, totals[-1], strict=True):
                comm.Allreduce(gradient, total, op=MPI.SUM)
        return totals
