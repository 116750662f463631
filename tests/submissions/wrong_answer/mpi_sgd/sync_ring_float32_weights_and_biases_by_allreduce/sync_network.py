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

                # biases: only a few numbers, a ring with many steps is not worth for it
                nabla_b = [np.zeros(len(self.biases[0]))]
                for b in my_nabla_b[1:]:
                    sum_b = np.empty_like(b)
                    comm.Allreduce(b, sum_b, op=MPI.SUM)
                    nabla_b.append(sum_b)

                # weights: all layers in ONE long vector -> one ring per step and not one per layer.
                # float32 is enough for gradients and is half of the traffic
                vector = np.concatenate([w.ravel() for w in my_nabla_w[1:]]).astype(np.float32)
                summed = np.empty_like(vector)
                ringallreduce(vector, summed, comm, np.add)

                nabla_w = [np.zeros(1)]
                pos = 0
                for w in my_nabla_w[1:]:
                    nabla_w.append(summed[pos : pos + w.size].reshape(w.shape))
                    pos += w.size

                self.weights = [
                    w - self.eta * dw for w, dw in zip(self.weights, nabla_w, strict=True)
                ]
                self.biases = [
                    b - self.eta * db for b, db in zip(self.biases, nabla_b, strict=True)
                ]

            if rank == 0:
                self.print_progress(validation_data, epoch)

        MPI.Finalize()
