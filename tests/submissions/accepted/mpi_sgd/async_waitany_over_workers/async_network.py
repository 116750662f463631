import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
from network import *


def flatten(arrays):
    return np.concatenate([np.zeros(0)] + [np.asarray(a, dtype=np.float64).reshape(-1) for a in arrays])


def restore(flat, arrays):
    offset = 0
    for array in arrays:
        array[...] = flat[offset:offset + array.size].reshape(array.shape)
        offset += array.size


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
        if self.rank >= self.num_masters:
            self.do_worker(training_data)
        else:
            self.do_master(validation_data)
        MPI.Finalize()

    def owned(self, arrays, master):
        return [arrays[i] for i in range(1, self.num_layers) if i % self.num_masters == master]

    def batches_of(self, worker):
        """the first worker takes all that do not divide"""
        share, rest = divmod(self.number_of_batches, self.num_workers)
        return share + rest if worker == 0 else share

    def do_worker(self, training_data):
        mine = self.batches_of(self.rank - self.num_masters)
        masters = range(self.num_masters)
        for epoch in range(self.epochs):
            batches = self.create_batches(training_data[0], training_data[1], self.mini_batch_size)[:mine]
            for x, y in batches:
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                out = [flatten(self.owned(nabla_w, m) + self.owned(nabla_b, m)) for m in masters]
                back = [np.empty_like(o) for o in out]
                MPI.Request.Waitall([self.comm.Isend(o, m) for m, o in enumerate(out)]
                                    + [self.comm.Irecv(b, m) for m, b in enumerate(back)])
                for m in masters:
                    restore(back[m], self.owned(self.weights, m) + self.owned(self.biases, m))

    def do_master(self, validation_data):
        own = self.owned(self.weights, self.rank) + self.owned(self.biases, self.rank)
        inbox = [np.empty_like(flatten(own)) for _ in range(self.num_workers)]
        gradients = [np.zeros_like(a) for a in own]
        left = [self.batches_of(w) * self.epochs for w in range(self.num_workers)]

        def receive(worker):
            if left[worker] == 0:
                return MPI.REQUEST_NULL
            left[worker] -= 1
            return self.comm.Irecv(inbox[worker], source=self.num_masters + worker)

        standing = [receive(w) for w in range(self.num_workers)]
        for epoch in range(self.epochs):
            for _ in range(self.number_of_batches):
                worker = MPI.Request.Waitany(standing)
                restore(inbox[worker], gradients)
                for parameter, gradient in zip(own, gradients):
                    parameter -= self.eta * gradient
                standing[worker] = receive(worker)
                self.comm.Isend(flatten(own), dest=self.num_masters + worker).Wait()
            self.print_progress(validation_data, epoch)

        if self.rank != 0:
            self.comm.Isend(flatten(own), dest=0).Wait()
            return
        for m in range(1, self.num_masters):
            theirs = self.owned(self.weights, m) + self.owned(self.biases, m)
            flat = np.empty_like(flatten(theirs))
            self.comm.Irecv(flat, source=m).Wait()
            restore(flat, theirs)
