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

    def datatype(self, arrays):
        """ all arrays as one message, from where they lie """
        addresses = [MPI.Get_address(array) for array in arrays]
        sizes = [array.size for array in arrays]
        return MPI.DOUBLE.Create_hindexed(sizes, addresses).Commit()

    def send(self, arrays, dest, tag):
        kind = self.datatype(arrays)
        request = self.comm.Isend([MPI.BOTTOM, 1, kind], dest, tag)
        return request, kind

    def recv(self, arrays, source, tag):
        kind = self.datatype(arrays)
        request = self.comm.Irecv([MPI.BOTTOM, 1, kind], source, tag)
        return request, kind

    def finish(self, pairs):
        MPI.Request.Waitall([request for request, _ in pairs])
        for _, kind in pairs:
            kind.Free()

    def mine(self, weights, biases, master):
        return [a for i in range(1, self.num_layers) if i % self.num_masters == master
                for a in (weights[i], biases[i])]

    def do_worker(self, training_data):
        share, rest = divmod(self.number_of_batches, self.num_workers)
        self.number_of_batches = share + (self.size - 1 - self.rank < rest)
        for epoch in range(self.epochs):
            for x, y in self.create_batches(*training_data, self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                pairs = []
                for m in range(self.num_masters):
                    if self.mine(nabla_w, nabla_b, m):
                        pairs.append(self.send(self.mine(nabla_w, nabla_b, m), m, 7))
                        pairs.append(self.recv(self.mine(self.weights, self.biases, m), m, 8))
                self.finish(pairs)

    def do_master(self, validation_data):
        own = self.mine(self.weights, self.biases, self.rank)
        workers = range(self.num_masters, self.size)
        inbox = [[np.empty_like(a) for a in own] for _ in workers]
        pairs = [self.recv(inbox[k], worker, 7) for k, worker in enumerate(workers)] if own else []
        for epoch in range(self.epochs):
            for _ in range(self.number_of_batches if own else 0):
                k = MPI.Request.Waitany([request for request, _ in pairs])
                for parameter, gradient in zip(own, inbox[k]):
                    parameter -= self.eta * gradient
                pairs[k][1].Free()
                pairs[k] = self.recv(inbox[k], workers[k], 7)
                self.finish([self.send(own, workers[k], 8)])
            self.print_progress(validation_data, epoch)
        for request, _ in pairs:
            request.Cancel()
        self.finish(pairs)
        if self.rank == 0:
            for m in range(1, self.num_masters):
                if self.mine(self.weights, self.biases, m):
                    self.finish([self.recv(self.mine(self.weights, self.biases, m), m, 9)])
        elif own:
            self.finish([self.send(own, 0, 9)])
