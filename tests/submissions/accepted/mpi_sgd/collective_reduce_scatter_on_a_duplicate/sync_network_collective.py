import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
from network import NeuralNetwork


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        self.comm = MPI.COMM_WORLD.Dup()
        for epoch in range(self.epochs):
            batches = self.create_batches(*training_data, self.mini_batch_size // self.comm.size)
            for images, digits in batches:
                self.forward_prop(images)
                self.step(*self.back_prop(digits))
            if self.comm.rank == 0:
                self.print_progress(validation_data, epoch)
        self.comm.Free()
        MPI.Finalize()

    def step(self, my_nabla_b, my_nabla_w):
        gradients = my_nabla_b[1:] + my_nabla_w[1:]
        vector = np.concatenate([g.ravel() for g in gradients])
        part = -(-vector.size // self.comm.size)
        padded = np.zeros(part * self.comm.size)
        padded[:vector.size] = vector
        mine = np.empty(part)
        self.comm.Reduce_scatter_block(padded, mine, op=MPI.SUM)
        self.comm.Allgather(mine, padded)
        start = 0
        for parameter in self.biases[1:] + self.weights[1:]:
            parameter -= self.eta * padded[start:start + parameter.size].reshape(parameter.shape)
            start += parameter.size
