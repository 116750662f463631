"""Synchronous training with one ring all-reduce per batch: all gradients in one long vector."""

import mpi4py
import numpy as np
from my_ring_allreduce import ringallreduce
from network import NeuralNetwork

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def pack(nabla_w, nabla_b):
    """[all weights | all biases] as one vector, a single message is faster than many small ones"""
    return np.concatenate([g.ravel() for g in nabla_w] + [g.ravel() for g in nabla_b])


def unpack(vector, like_w, like_b):
    """the inverse of pack"""
    nabla_w, nabla_b = [], []
    position = 0
    for w in like_w:
        nabla_w.append(vector[position:position + w.size].reshape(w.shape))
        position += w.size
    # the biases come after all the weights (layer 0 has no weights)
    position = sum(w.size for w in like_w[1:])
    for b in like_b:
        nabla_b.append(vector[position:position + b.size].reshape(b.shape))
        position += b.size
    return nabla_w, nabla_b


class SynchronicNeuralNetwork(NeuralNetwork):

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        rank = comm.Get_rank()
        size = comm.Get_size()

        data, labels = training_data
        for epoch in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size // size):
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)

                mine = pack(my_nabla_w, my_nabla_b)
                total = np.zeros_like(mine)
                ringallreduce(mine, total, comm, np.add)
                nabla_w, nabla_b = unpack(total, my_nabla_w, my_nabla_b)

                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]

            if rank == 0:
                self.print_progress(validation_data, epoch)

        MPI.Finalize()
