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
        total = self.number_of_batches
        self.number_of_batches = total // self.num_workers
        if self.rank - self.num_masters < total % self.num_workers:
            self.number_of_batches += 1

        for epoch in range(self.epochs):
            mini_batches = self.create_batches(training_data[0], training_data[1], self.mini_batch_size)
            for x, y in mini_batches:
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                requests = []
                for i in range(self.num_layers):
                    master = i % self.num_masters
                    requests.append(self.comm.Isend(np.asarray(nabla_w[i], dtype=float), dest=master, tag=2 * i))
                    requests.append(self.comm.Isend(nabla_b[i], dest=master, tag=2 * i + 1))
                self.weights[0] = np.asarray(self.weights[0], dtype=float)
                for i in range(self.num_layers):
                    master = i % self.num_masters
                    requests.append(self.comm.Irecv(self.weights[i], source=master, tag=2 * i))
                    requests.append(self.comm.Irecv(self.biases[i], source=master, tag=2 * i + 1))
                MPI.Request.Waitall(requests)

    def do_master(self, validation_data):
        my_layers = list(range(self.rank, self.num_layers, self.num_masters))
        nabla_w = [np.zeros(self.weights[i].shape) for i in my_layers]
        nabla_b = [np.zeros(self.biases[i].shape) for i in my_layers]

        for epoch in range(self.epochs):
            for batch in range(self.number_of_batches):
                worker = None
                for k, i in enumerate(my_layers):
                    if worker is None:
                        status = MPI.Status()
                        self.comm.Irecv(nabla_w[k], source=MPI.ANY_SOURCE, tag=2 * i).Wait(status)
                        worker = status.Get_source()
                    else:
                        self.comm.Irecv(nabla_w[k], source=worker, tag=2 * i).Wait()
                    self.comm.Irecv(nabla_b[k], source=worker, tag=2 * i + 1).Wait()

                for i, dw, db in zip(my_layers, nabla_w, nabla_b):
                    self.weights[i] = self.weights[i] - self.eta * dw
                    self.biases[i] = self.biases[i] - self.eta * db

                replies = []
                for i in my_layers:
                    replies.append(self.comm.Isend(self.weights[i], dest=worker, tag=2 * i))
                    replies.append(self.comm.Isend(self.biases[i], dest=worker, tag=2 * i + 1))
                MPI.Request.Waitall(replies)
            self.print_progress(validation_data, epoch)

        requests = []
        for i in range(self.num_layers):
            owner = i % self.num_masters
            if self.rank == owner and self.rank != 0:
                requests.append(self.comm.Isend(self.weights[i], dest=0, tag=2 * i))
                requests.append(self.comm.Isend(self.biases[i], dest=0, tag=2 * i + 1))
            if self.rank == 0 and owner != 0:
                requests.append(self.comm.Irecv(self.weights[i], source=owner, tag=2 * i))
                requests.append(self.comm.Irecv(self.biases[i], source=owner, tag=2 * i + 1))
        MPI.Request.Waitall(requests)
