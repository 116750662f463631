from network import *
import itertools
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class SynchronicNeuralNetwork(NeuralNetwork):
    def sum_over_ranks(self, comm, *lists):
        requests = [comm.Iallreduce(MPI.IN_PLACE, a) for a in itertools.chain(*lists)]
        MPI.Request.Waitall(requests)

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        share = self.mini_batch_size // comm.size
        for epoch in range(self.epochs):
            for x, y in self.create_batches(training_data[0], training_data[1], share):
                self.forward_prop(x)
                ma_nabla_b, ma_nabla_w = self.back_prop(y)
                self.sum_over_ranks(comm, ma_nabla_b, ma_nabla_w)
                for i in range(1, self.num_layers):
                    self.weights[i] = self.weights[i] - self.eta * ma_nabla_w[i]
                    self.biases[i] = self.biases[i] - self.eta * ma_nabla_b[i]
            self.print_progress(validation_data, epoch)
        MPI.Finalize()
