import mpi4py
import numpy as np
from network import *
from network import NeuralNetwork

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class SynchronicNeuralNetwork(NeuralNetwork):

    def _sum_over_ranks(self, comm, gradients):
        """Sum the gradient of each layer; there are num_layers - 1 layers with weights."""
        summed = [g.copy() for g in gradients]
        for layer in range(self.num_layers - 1):
            comm.Allreduce(MPI.IN_PLACE, summed[layer], op=MPI.SUM)
        return summed

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        rank = comm.Get_rank()
        size = comm.Get_size()

        data, labels = training_data
        for epoch in range(self.epochs):
            mini_batches = self.create_batches(data, labels, self.mini_batch_size // size)
            for x, y in mini_batches:
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)

                nabla_b = self._sum_over_ranks(comm, my_nabla_b)
                nabla_w = self._sum_over_ranks(comm, my_nabla_w)

                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]

            if rank == 0:
                self.print_progress(validation_data, epoch)

        MPI.Finalize()
