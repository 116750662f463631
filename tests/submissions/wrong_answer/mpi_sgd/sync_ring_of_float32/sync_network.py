import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
import my_ring_allreduce
from network import NeuralNetwork


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        self.comm = MPI.COMM_WORLD
        for epoch in range(self.epochs):
            for x, y in self.create_batches(training_data[0], training_data[1],
                                            self.mini_batch_size // self.comm.Get_size()):
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)
                # one long array: w1, b1, w2, b2, ... (layer 0 has nothing to learn)
                layers = range(1, self.num_layers)
                mine = np.concatenate([g.ravel() for i in layers for g in (my_nabla_w[i], my_nabla_b[i])])
                mine = mine.astype(np.float32)
                total = np.zeros_like(mine)
                my_ring_allreduce.ringallreduce(mine, total, self.comm, np.add)
                for i in layers:
                    w, total = np.split(total, [self.weights[i].size])
                    b, total = np.split(total, [self.biases[i].size])
                    self.weights[i] = self.weights[i] - self.eta * w.reshape(self.weights[i].shape)
                    self.biases[i] = self.biases[i] - self.eta * b
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
