import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
import numpy as np
from network import NeuralNetwork
from my_ring_allreduce import ringallreduce
import packing


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        for epoch in range(self.epochs):
            for x, y in self.create_batches(*training_data, self.mini_batch_size // comm.size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                mine = packing.pack(nabla_b[1:] + nabla_w[1:])
                total = np.zeros_like(mine)
                ringallreduce(mine, total, comm, np.add)
                parts = packing.unpack(total, nabla_b[1:] + nabla_w[1:])
                for i in range(1, self.num_layers):
                    self.biases[i] = self.biases[i] - self.eta * parts[i - 1]
                    self.weights[i] = self.weights[i] - self.eta * parts[self.num_layers + i - 2]
            self.print_progress(validation_data if comm.rank == 0 else None, epoch)
        MPI.Finalize()
