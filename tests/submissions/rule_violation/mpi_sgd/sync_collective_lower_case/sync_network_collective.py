from network import *
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        world = MPI.COMM_WORLD
        data, labels = training_data
        for epoch in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size // world.size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                nabla_b = [world.allreduce(g) for g in nabla_b]
                nabla_w = [world.allreduce(g) for g in nabla_w]
                self.weights = [w - self.eta * g for w, g in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * g for b, g in zip(self.biases, nabla_b)]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
