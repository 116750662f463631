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
            data, labels = training_data
            for x, y in self.create_batches(data, labels, self.mini_batch_size // size):
                self.forward_prop(x)
                ma_nabla_b, ma_nabla_w = self.back_prop(y)
                nabla_w = [np.zeros_like(w) for w in self.weights]
                nabla_b = [np.zeros_like(b) for b in self.biases]
                for i in range(self.num_layers):
                    comm.Allreduce(ma_nabla_w[i], nabla_w[i], op=MPI.SUM)
                    comm.Allreduce(ma_nabla_b[i], nabla_b[i], op=MPI.SUM)
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
