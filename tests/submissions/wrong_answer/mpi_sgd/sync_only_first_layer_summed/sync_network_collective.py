from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def reduce_layers(comm, gradients):
    for g in gradients[1:]:
        comm.Allreduce(MPI.IN_PLACE, g, op=MPI.SUM)
        return gradients


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        for epoch in range(self.epochs):
            for x, y in self.create_batches(training_data[0], training_data[1], self.mini_batch_size // comm.size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                nabla_b = reduce_layers(comm, nabla_b)
                nabla_w = reduce_layers(comm, nabla_w)
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
