from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def exchange_and_add(comm, mine):
    others = [k for k in range(comm.size) if k != comm.rank]
    boxes = [np.empty_like(mine) for _ in others]
    requests = [comm.Isend(mine, k) for k in others] + [comm.Irecv(b, k) for b, k in zip(boxes, others)]
    MPI.Request.Waitall(requests)
    return sum(boxes, mine)


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        for epoch in range(self.epochs):
            for x, y in self.create_batches(training_data[0], training_data[1], self.mini_batch_size // comm.size):
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)
                nabla_b = [exchange_and_add(comm, db) for db in my_nabla_b]
                nabla_w = [exchange_and_add(comm, dw) for dw in my_nabla_w]
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
