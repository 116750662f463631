from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class AsynchronicNeuralNetwork(NeuralNetwork):

    def __init__(self, sizes=list(), learning_rate=1.0, mini_batch_size=16, number_of_batches=16,
                 epochs=10, number_of_masters=1, matmul=np.matmul):
        super().__init__(sizes, learning_rate, mini_batch_size, number_of_batches, epochs, matmul)
        self.num_masters = number_of_masters

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        self.comm = MPI.COMM_WORLD
        self.rank = self.comm.Get_rank()
        self.size = self.comm.Get_size()
        self.num_workers = self.size - self.num_masters
        if self.rank < self.num_masters:
            self.do_master(validation_data)
        else:
            self.do_worker(training_data)
        MPI.Finalize()

    def do_worker(self, training_data):
        batches = self.number_of_batches // self.num_workers
        if self.rank - self.num_masters < self.number_of_batches % self.num_workers:
            batches += 1
        self.number_of_batches = batches
        for epoch in range(self.epochs):
            for x, y in self.create_batches(training_data[0], training_data[1], self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                requests = []
                for i in range(1, self.num_layers):
                    owner = i % self.num_masters
                    requests += [self.comm.Isend(nabla_w[i], dest=owner, tag=i),
                                 self.comm.Isend(nabla_b[i], dest=owner, tag=100 + i),
                                 self.comm.Irecv(self.weights[i], source=owner, tag=i),
                                 self.comm.Irecv(self.biases[i], source=owner, tag=100 + i)]
                MPI.Request.Waitall(requests)

    def do_master(self, validation_data):
        layers = [i for i in range(1, self.num_layers) if i % self.num_masters == self.rank]
        for epoch in range(self.epochs):
            for batch in range(self.number_of_batches if layers else 0):
                dw = {i: np.empty_like(self.weights[i]) for i in layers}
                db = {i: np.empty_like(self.biases[i]) for i in layers}
                for i in layers:
                    status = MPI.Status()
                    self.comm.Irecv(dw[i], source=MPI.ANY_SOURCE, tag=i).Wait(status)
                    worker = status.Get_source()
                    self.comm.Irecv(db[i], source=worker, tag=100 + i).Wait()

                for i in layers:
                    self.weights[i] = self.weights[i] - self.eta * dw[i]
                    self.biases[i] = self.biases[i] - self.eta * db[i]

                requests = []
                for i in layers:
                    requests += [self.comm.Isend(self.weights[i], dest=worker, tag=i),
                                 self.comm.Isend(self.biases[i], dest=worker, tag=100 + i)]
                MPI.Request.Waitall(requests)
            self.print_progress(validation_data, epoch)

        requests = []
        for i in range(1, self.num_layers):
            owner = i % self.num_masters
            if owner != 0 and self.rank == owner:
                requests += [self.comm.Isend(self.weights[i], dest=0, tag=i),
                             self.comm.Isend(self.biases[i], dest=0, tag=100 + i)]
            if owner != 0 and self.rank == 0:
                requests += [self.comm.Irecv(self.weights[i], source=owner, tag=i),
                             self.comm.Irecv(self.biases[i], source=owner, tag=100 + i)]
        MPI.Request.Waitall(requests)
