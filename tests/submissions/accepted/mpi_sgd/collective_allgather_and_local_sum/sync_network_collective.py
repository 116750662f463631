from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI

class SynchronicNeuralNetwork(NeuralNetwork):

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        n = comm.Get_size()
        for epoch in range(self.epochs):
            batches = self.create_batches(training_data[0], training_data[1], self.mini_batch_size // n)
            for (x, y) in batches:
                self.forward_prop(x)
                ma_nabla_b, ma_nabla_w = self.back_prop(y)
                nabla_w = []
                nabla_b = []
                for layer in range(self.num_layers):
                    everybody_w = np.empty((n,) + ma_nabla_w[layer].shape, dtype=ma_nabla_w[layer].dtype)
                    everybody_b = np.empty((n,) + ma_nabla_b[layer].shape, dtype=ma_nabla_b[layer].dtype)
                    comm.Allgather(ma_nabla_w[layer], everybody_w)
                    comm.Allgather(ma_nabla_b[layer], everybody_b)
                    nabla_w.append(everybody_w.sum(axis=0))
                    nabla_b.append(everybody_b.sum(axis=0))
                for layer in range(self.num_layers):
                    self.weights[layer] = self.weights[layer] - self.eta * nabla_w[layer]
                    self.biases[layer] = self.biases[layer] - self.eta * nabla_b[layer]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
