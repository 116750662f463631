from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


from my_ring_allreduce import *


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        size = comm.Get_size()
        for epoch in range(self.epochs):
            data, labels = training_data
            for x, y in self.create_batches(data, labels, self.mini_batch_size // size):
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)
                nabla_w = [np.zeros_like(dw) for dw in my_nabla_w]
                nabla_b = [np.zeros_like(db) for db in my_nabla_b]
                for i in range(self.num_layers):
                    # ringallreduce(my_nabla_w[i], nabla_w[i], comm, np.add)   # hangs sometimes??
                    comm.Allreduce(my_nabla_w[i], nabla_w[i], op=MPI.SUM)
                    comm.Allreduce(my_nabla_b[i], nabla_b[i], op=MPI.SUM)
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
