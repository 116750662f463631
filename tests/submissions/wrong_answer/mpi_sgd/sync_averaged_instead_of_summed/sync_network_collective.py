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
        data, labels = training_data
        for epoch in range(self.epochs):
            mini_batches = self.create_batches(data, labels, self.mini_batch_size // size)
            for x, y in mini_batches:
                self.forward_prop(x)
                ma_nabla_b, ma_nabla_w = self.back_prop(y)
                nabla_w = []
                nabla_b = []
                for i in range(self.num_layers):
                    w = np.empty(ma_nabla_w[i].shape)
                    b = np.empty(ma_nabla_b[i].shape)
                    comm.Allreduce(ma_nabla_w[i].astype(float), w, op=MPI.SUM)
                    comm.Allreduce(ma_nabla_b[i].astype(float), b, op=MPI.SUM)
                    nabla_w.append(w / size)
                    nabla_b.append(b / size)
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
