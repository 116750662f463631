from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class SynchronicNeuralNetwork(NeuralNetwork):

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        rank = comm.Get_rank()
        size = comm.Get_size()
        for epoch in range(self.epochs):
            mini_batches = self.create_batches(training_data[0], training_data[1], self.mini_batch_size // size)
            for x, y in mini_batches:
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)
                nabla_w = [np.zeros_like(w) for w in my_nabla_w]
                nabla_b = [np.zeros_like(b) for b in my_nabla_b]
                for i in range(len(nabla_w)):
                    comm.Reduce(my_nabla_w[i], nabla_w[i], op=MPI.SUM, root=0)
                    comm.Reduce(my_nabla_b[i], nabla_b[i], op=MPI.SUM, root=0)
                # the master applies the sums
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
            if rank == 0:
                self.print_progress(validation_data, epoch)
        MPI.Finalize()
