from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        size = comm.Get_size()
        for epoch in range(self.epochs):
            for x, y in self.create_batches(training_data[0], training_data[1], self.mini_batch_size // size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                for nabla in nabla_b + nabla_w:
                    comm.Allreduce(MPI.IN_PLACE, nabla, op=MPI.SUM)
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
            self.print_progress(validation_data, epoch)
            MPI.Finalize()
