import math
import numpy as np
from network import NeuralNetwork
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def summed(comm, array):
    array = np.ascontiguousarray(array, dtype=np.float64)
    result = np.zeros(array.shape)
    comm.Reduce(array, result, op=MPI.SUM, root=comm.Get_rank())
    return result


class SynchronicNeuralNetwork(NeuralNetwork):
    """ trains on all ranks, every rank ends with the same weights """

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        self.comm = MPI.COMM_WORLD
        data, labels = training_data
        local_batch = math.floor(self.mini_batch_size / self.comm.Get_size())
        for epoch in range(self.epochs):
            for batch in self.create_batches(data, labels, local_batch):
                self.step(*batch)
            self.print_progress(validation_data, epoch)
        MPI.Finalize()

    def step(self, x, y):
        self.forward_prop(x)
        my_nabla_b, my_nabla_w = self.back_prop(y)
        nabla_b = [summed(self.comm, g) for g in my_nabla_b]
        nabla_w = [summed(self.comm, g) for g in my_nabla_w]
        self.biases = [b - self.eta * g for b, g in zip(self.biases, nabla_b)]
        self.weights = [w - self.eta * g for w, g in zip(self.weights, nabla_w)]
