from network import *
from my_ring_allreduce import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def _sum(a, b):
    return a + b


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        data, labels = training_data
        for epoch in range(self.epochs):
            mini_batches = self.create_batches(data, labels, self.mini_batch_size // comm.Get_size())
            for x, y in mini_batches:
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)
                nabla_w = [np.zeros_like(g) for g in my_nabla_w]
                nabla_b = [np.zeros_like(g) for g in my_nabla_b]
                for i in range(self.num_layers):
                    ringallreduce(my_nabla_w[i], nabla_w[i], comm, _sum)
                    ringallreduce(my_nabla_b[i], nabla_b[i], comm, _sum)
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
