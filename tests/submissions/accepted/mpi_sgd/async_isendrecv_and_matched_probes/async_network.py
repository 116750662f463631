import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
from network import *


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

    def layers_of(self, master):
        return range(max(master, self.num_masters if master == 0 else 1), self.num_layers, self.num_masters)

    def vector(self, lists, master):
        parts = [np.ravel(each[i]) for i in self.layers_of(master) for each in lists]
        return np.concatenate(parts) if parts else np.empty(0)

    def spread(self, vector, lists, master):
        for i in self.layers_of(master):
            for each in lists:
                each[i] = vector[:each[i].size].reshape(each[i].shape)
                vector = vector[each[i].size:]

    def do_worker(self, training_data):
        total = self.number_of_batches
        first, step = self.rank - self.num_masters, self.num_workers
        for epoch in range(self.epochs):
            for x, y in self.create_batches(*training_data, self.mini_batch_size)[first:total:step]:
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                swaps, new = [], []
                for master in range(self.num_masters):
                    mine = self.vector([nabla_w, nabla_b], master)
                    new.append(np.empty_like(mine))
                    swaps.append(self.comm.Isendrecv(mine, master, 1, new[-1], master, 2))
                MPI.Request.Waitall(swaps)
                for master in range(self.num_masters):
                    self.spread(new[master], [self.weights, self.biases], master)

    def do_master(self, validation_data):
        held = [self.weights, self.biases]
        for epoch in range(self.epochs):
            for _ in range(self.number_of_batches):
                status = MPI.Status()
                message = None
                while message is None:
                    message = self.comm.Improbe(MPI.ANY_SOURCE, 1, status)
                gradient = np.empty(status.Get_count(MPI.DOUBLE))
                message.Irecv(gradient).Wait()
                values = self.vector(held, self.rank) - self.eta * gradient
                self.spread(values, held, self.rank)
                self.comm.Isend(values, status.Get_source(), 2).Wait()
            self.print_progress(validation_data, epoch)
        if self.rank:
            self.comm.Isend(self.vector(held, self.rank), 0, 3).Wait()
            return
        for master in range(1, self.num_masters):
            vector = np.empty_like(self.vector(held, master))
            self.comm.Irecv(vector, master, 3).Wait()
            self.spread(vector, held, master)
