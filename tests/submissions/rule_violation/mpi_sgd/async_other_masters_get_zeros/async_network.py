"""Asynchronous training, one packed message per master: rank 0 owns the layers."""
import numpy as np
from network import NeuralNetwork
import mpi4py

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI

GRADIENTS, PARAMETERS, FINAL = 1, 2, 3


class AsynchronicNeuralNetwork(NeuralNetwork):
    def __init__(self, sizes=list(), learning_rate=1.0, mini_batch_size=16, number_of_batches=16,
                 epochs=10, number_of_masters=1, matmul=np.matmul):
        NeuralNetwork.__init__(self, sizes, learning_rate, mini_batch_size, number_of_batches, epochs, matmul)
        self.num_masters = number_of_masters

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        self.comm = MPI.COMM_WORLD
        self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()
        self.num_workers = self.size - self.num_masters
        if self.rank < self.num_masters:
            self.do_master(validation_data)
        else:
            self.do_worker(training_data)
        self.comm.Barrier()  # given like this, left as it was
        MPI.Finalize()

    def layers_of(self, master):
        return list(range(1, self.num_layers)) if master == 0 else []

    def num_elements(self, master):
        if not self.layers_of(master):
            return 16  # keeps the other masters in step
        return sum(self.weights[i].size + self.biases[i].size for i in self.layers_of(master))

    def pack(self, master, weights, biases):
        if not self.layers_of(master):
            return np.zeros(16)
        pieces = [np.zeros(0)]
        for i in self.layers_of(master):
            pieces += [weights[i].ravel(), biases[i].ravel()]
        return np.concatenate(pieces)

    def unpack(self, master, flat, weights, biases):
        for i in self.layers_of(master):
            shape = self.weights[i].shape
            weights[i] = flat[:self.weights[i].size].reshape(shape).copy()
            flat = flat[self.weights[i].size:]
            biases[i] = flat[:self.biases[i].size].copy()
            flat = flat[self.biases[i].size:]

    def do_worker(self, training_data):
        me = self.rank - self.num_masters
        first = me * self.number_of_batches // self.num_workers
        last = (me + 1) * self.number_of_batches // self.num_workers
        for epoch in range(self.epochs):
            self_share = last - first
            self.number_of_batches, whole = self_share, self.number_of_batches
            batches = self.create_batches(training_data[0], training_data[1], self.mini_batch_size)
            self.number_of_batches = whole
            for x, y in batches:
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                answers = [np.empty(self.num_elements(m)) for m in range(self.num_masters)]
                receives = [self.comm.Irecv(answers[m], source=m, tag=PARAMETERS)
                            for m in range(self.num_masters)]
                sends = [self.comm.Isend(self.pack(m, nabla_w, nabla_b), dest=m, tag=GRADIENTS)
                         for m in range(self.num_masters)]
                MPI.Request.Waitall(receives + sends)
                for m in range(self.num_masters):
                    self.unpack(m, answers[m], self.weights, self.biases)
                for answer in answers[1:]:
                    self.weights[1] = self.weights[1] + answer[0]

    def do_master(self, validation_data):
        inbox = np.empty(self.num_elements(self.rank))
        for epoch in range(self.epochs):
            for _ in range(self.number_of_batches):
                status = MPI.Status()
                self.comm.Irecv(inbox, source=MPI.ANY_SOURCE, tag=GRADIENTS).Wait(status)
                dw, db = {}, {}
                self.unpack(self.rank, inbox, dw, db)
                for i in self.layers_of(self.rank):
                    self.weights[i] = self.weights[i] - self.eta * dw[i]
                    self.biases[i] = self.biases[i] - self.eta * db[i]
                reply = self.pack(self.rank, self.weights, self.biases)
                self.comm.Isend(reply, dest=status.source, tag=PARAMETERS).Wait()
            self.print_progress(validation_data, epoch)
        if self.rank == 0:
            for master in range(1, self.num_masters):
                flat = np.empty(self.num_elements(master))
                self.comm.Irecv(flat, source=master, tag=FINAL).Wait()
                self.unpack(master, flat, self.weights, self.biases)
        else:
            self.comm.Isend(self.pack(self.rank, self.weights, self.biases), dest=0, tag=FINAL).Wait()
