import mpi4py
import numpy as np
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
from network import NeuralNetwork, sigmoid_prime


class SynchronicNeuralNetwork(NeuralNetwork):
    """Starts the all-reduce of a layer in the backward pass, and waits for all at the end."""

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        data, labels = training_data
        for epoch in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size // comm.Get_size()):
                self.forward_prop(x)
                pending, sums = [], {}
                delta = (self.activations[-1] - y) * sigmoid_prime(self.zs[-1])
                for i in reversed(range(1, self.num_layers)):
                    b = delta.sum(axis=0)
                    w = np.ascontiguousarray(self.matmul(self.activations[i - 1].T, delta))
                    pending.append(comm.Iallreduce(MPI.IN_PLACE, w, op=MPI.SUM))
                    pending.append(comm.Iallreduce(MPI.IN_PLACE, b, op=MPI.SUM))
                    sums[i] = w, b
                    if i > 1:
                        delta = self.matmul(delta, self.weights[i].T) * sigmoid_prime(self.zs[i - 1])
                MPI.Request.Waitall(pending)
                for i, (w, b) in sums.items():
                    self.weights[i] = self.weights[i] - self.eta * w
                    self.biases[i] = self.biases[i] - self.eta * b
            if comm.Get_rank() == 0:
                self.print_progress(validation_data, epoch)
        MPI.Finalize()
