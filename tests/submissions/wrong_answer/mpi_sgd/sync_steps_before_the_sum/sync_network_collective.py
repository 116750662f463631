from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        self.comm = MPI.COMM_WORLD
        for epoch in range(self.epochs):
            for x, y in self.create_batches(*training_data, self.mini_batch_size // self.comm.Get_size()):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
                nabla_b = [self.comm.allreduce(db) for db in nabla_b]
                nabla_w = [self.comm.allreduce(dw) for dw in nabla_w]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
