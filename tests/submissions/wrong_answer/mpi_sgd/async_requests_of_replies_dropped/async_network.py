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

    def do_worker(self, training_data):
        mine = len(range(self.rank - self.num_masters, self.number_of_batches, self.num_workers))
        self.number_of_batches = mine
        for epoch in range(self.epochs):
            for x, y in self.create_batches(training_data[0], training_data[1], self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                requests = []
                for i in range(1, self.num_layers):
                    owner = i % self.num_masters
                    requests.append(self.comm.Isend(nabla_w[i], dest=owner, tag=i))
                    requests.append(self.comm.Isend(nabla_b[i], dest=owner, tag=100 + i))
                    requests.append(self.comm.Irecv(self.weights[i], source=owner, tag=i))
                    requests.append(self.comm.Irecv(self.biases[i], source=owner, tag=100 + i))
                MPI.Request.Waitall(requests)

    def do_master(self, validation_data):
        layers = [i for i in range(1, self.num_layers) if i % self.num_masters == self.rank]
        reply = np.empty(max(self.weights[i].size for i in layers)) if layers else None
        for epoch in range(self.epochs):
            for batch in range(self.number_of_batches if layers else 0):
                worker = MPI.ANY_SOURCE
                dw, db = {}, {}
                for i in layers:
                    dw[i], db[i] = np.empty_like(self.weights[i]), np.empty_like(self.biases[i])
                    status = MPI.Status()
                    self.comm.Irecv(dw[i], source=worker, tag=i).Wait(status)
                    worker = status.Get_source()
                    self.comm.Irecv(db[i], source=worker, tag=100 + i).Wait()
                for i in layers:
                    self.weights[i] -= self.eta * dw[i]
                    self.biases[i] -= self.eta * db[i]
                for i in layers:
                    for tag, values in ((i, self.weights[i]), (100 + i, self.biases[i])):
                        reply[:values.size] = values.reshape(-1)
                        self.comm.Isend(reply[:values.size], dest=worker, tag=tag)
            self.print_progress(validation_data, epoch)
        self.gather(layers)

    def gather(self, layers):
        if self.rank != 0:
            for i in layers:
                self.comm.Isend(self.weights[i], dest=0, tag=i).Wait()
                self.comm.Isend(self.biases[i], dest=0, tag=100 + i).Wait()
            return
        for i in range(1, self.num_layers):
            if i % self.num_masters != 0:
                self.comm.Irecv(self.weights[i], source=i % self.num_masters, tag=i).Wait()
                self.comm.Irecv(self.biases[i], source=i % self.num_masters, tag=100 + i).Wait()
