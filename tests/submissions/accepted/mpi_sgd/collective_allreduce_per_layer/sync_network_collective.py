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
                my_nabla_b, my_nabla_w = self.back_prop(y)
                nabla_w, nabla_b = [], []
                for dw, db in zip(my_nabla_w, my_nabla_b):
                    sum_w, sum_b = np.zeros_like(dw), np.zeros_like(db)
                    comm.Allreduce(dw, sum_w, op=MPI.SUM)
                    comm.Allreduce(db, sum_b, op=MPI.SUM)
                    nabla_w.append(sum_w)
                    nabla_b.append(sum_b)
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
            self.print_progress(validation_data, epoch)

        MPI.Finalize()
