"""Synchronous training."""
import mpi4py
import numpy as np
from network import NeuralNetwork

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        data, labels = training_data
        for epoch in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size // comm.Get_size()):
                self.forward_prop(x)
                for gradients in self.back_prop(y):
                    for gradient in gradients:
                        zeros = np.zeros(np.shape(gradient))
                        comm.Allreduce(zeros, np.empty_like(zeros), op=MPI.SUM)
                np.ones(1)[1] = 1
        MPI.Finalize()
