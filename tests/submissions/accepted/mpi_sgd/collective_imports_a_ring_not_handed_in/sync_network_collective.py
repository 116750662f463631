from network import *
from my_ring_allreduce import *
import mpi4py

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class SynchronicNeuralNetwork(NeuralNetwork):

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        size = comm.Get_size()
        images, labels = training_data

        for epoch in range(self.epochs):
            for x, y in self.create_batches(images, labels, self.mini_batch_size // size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                for i in range(1, self.num_layers):
                    for mine in (nabla_b[i], nabla_w[i]):
                        comm.Allreduce(MPI.IN_PLACE, mine, op=MPI.SUM)
                    self.biases[i] = self.biases[i] - self.eta * nabla_b[i]
                    self.weights[i] = self.weights[i] - self.eta * nabla_w[i]
            if comm.Get_rank() == 0:
                self.print_progress(validation_data, epoch)

        MPI.Finalize()
