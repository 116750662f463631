import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
from network import *


def pack(arrays):
    return np.concatenate([np.ravel(a).astype(float) for a in arrays])


def unpack(flat, like):
    out, at = [], 0
    for a in like:
        out.append(flat[at:at + a.size].reshape(a.shape))
        at += a.size
    return out


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        for epoch in range(self.epochs):
            for x, y in self.create_batches(*training_data, self.mini_batch_size // comm.size):
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)
                mine = pack(my_nabla_b + my_nabla_w)
                if comm.rank == 0:
                    mine = mine.astype(np.float32)
                total = np.empty_like(mine)
                comm.Allreduce(mine, total)
                summed = unpack(total, my_nabla_b + my_nabla_w)
                nabla_b, nabla_w = summed[:self.num_layers], summed[self.num_layers:]
                self.biases = [b - self.eta * d for b, d in zip(self.biases, nabla_b)]
                self.weights = [w - self.eta * d for w, d in zip(self.weights, nabla_w)]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
