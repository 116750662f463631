import mpi4py
import numpy as np
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
from network import NeuralNetwork, sigmoid_prime
from my_ring_allreduce import ringallreduce


class SynchronicNeuralNetwork(NeuralNetwork):
    """Each layer's gradients are summed as soon as they are known, before the layer below."""

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        data, labels = training_data
        for epoch in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size // comm.Get_size()):
                self.forward_prop(x)
                new_w, new_b = list(self.weights), list(self.biases)
                delta = (self.activations[-1] - y) * sigmoid_prime(self.zs[-1])
                for i in reversed(range(1, self.num_layers)):
                    my_b = delta.sum(axis=0)
                    my_w = np.ascontiguousarray(self.matmul(self.activations[i - 1].T, delta))
                    b, w = np.empty_like(my_b), np.empty_like(my_w)
                    ringallreduce(my_w, w, comm, np.add)
                    ringallreduce(my_b, b, comm, np.add)
                    new_w[i] = self.weights[i] - self.eta * w
                    new_b[i] = self.biases[i] - self.eta * b
                    if i > 1:
                        delta = self.matmul(delta, self.weights[i].T) * sigmoid_prime(self.zs[i - 1])
                self.weights, self.biases = new_w, new_b
            if comm.Get_rank() == 0:
                self.print_progress(validation_data, epoch)
        MPI.Finalize()
