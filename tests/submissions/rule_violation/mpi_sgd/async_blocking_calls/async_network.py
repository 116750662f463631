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
        everyone = self.number_of_batches
        self.number_of_batches = everyone // self.num_workers
        if self.rank - self.num_masters < everyone % self.num_workers:
            self.number_of_batches += 1
        for epoch in range(self.epochs):
            for x, y in self.create_batches(training_data[0], training_data[1], self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                # one master after the other: send, then wait for its answer
                for master in range(self.num_masters):
                    layers = [i for i in range(1, self.num_layers) if i % self.num_masters == master]
                    for i in layers:
                        self.comm.Send(nabla_w[i], dest=master, tag=i)
                        self.comm.Send(nabla_b[i], dest=master, tag=i)
                    for i in layers:
                        self.comm.Recv(self.weights[i], source=master, tag=i)
                        self.comm.Recv(self.biases[i], source=master, tag=i)

    def do_master(self, validation_data):
        mine = [i for i in range(1, self.num_layers) if i % self.num_masters == self.rank]
        for epoch in range(self.epochs):
            for batch in range(self.number_of_batches):
                if not mine:
                    break
                status = MPI.Status()
                self.comm.Probe(source=MPI.ANY_SOURCE, tag=mine[0], status=status)
                worker = status.Get_source()
                for i in mine:
                    dw, db = np.empty_like(self.weights[i]), np.empty_like(self.biases[i])
                    self.comm.Recv(dw, source=worker, tag=i)
                    self.comm.Recv(db, source=worker, tag=i)
                    self.weights[i] = self.weights[i] - self.eta * dw
                    self.biases[i] = self.biases[i] - self.eta * db
                for i in mine:
                    self.comm.Send(self.weights[i], dest=worker, tag=i)
                    self.comm.Send(self.biases[i], dest=worker, tag=i)
            self.print_progress(validation_data, epoch)
        if self.rank > 0:
            for i in mine:
                self.comm.Send(self.weights[i], dest=0, tag=i)
                self.comm.Send(self.biases[i], dest=0, tag=i)
        else:
            for i in range(1, self.num_layers):
                if i % self.num_masters != 0:
                    self.comm.Recv(self.weights[i], source=i % self.num_masters, tag=i)
                    self.comm.Recv(self.biases[i], source=i % self.num_masters, tag=i)
