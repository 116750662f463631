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
        total, k = self.number_of_batches, self.rank - self.num_masters
        self.number_of_batches = (k + 1) * total // self.num_workers - k * total // self.num_workers
        out = [(np.empty(w.shape), np.empty(b.shape)) for w, b in zip(self.weights, self.biases)]
        every = []
        for i in range(1, self.num_layers):
            m = i % self.num_masters
            for kind, (gradient, parameter) in enumerate(zip(out[i], (self.weights[i], self.biases[i]))):
                every.append(self.comm.Send_init(gradient, m, 2 * i + kind))
                every.append(self.comm.Recv_init(parameter, m, 2 * i + kind))
        for epoch in range(self.epochs):
            for x, y in self.create_batches(*training_data, self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                for i in range(1, self.num_layers):
                    out[i][0][...] = nabla_w[i]
                    out[i][1][...] = nabla_b[i]
                MPI.Prequest.Startall(every)
                MPI.Request.Waitall(every)
        for request in every:
            request.Free()

    def do_master(self, validation_data):
        layers = [i for i in range(1, self.num_layers) if i % self.num_masters == self.rank]
        room = {i: (np.empty_like(self.weights[i]), np.empty_like(self.biases[i])) for i in layers}
        for epoch in range(self.epochs):
            done = 0
            while layers and done < self.number_of_batches:
                status = MPI.Status()
                if not self.comm.Iprobe(MPI.ANY_SOURCE, 2 * layers[0], status):
                    continue
                worker = status.Get_source()
                open_ = [self.comm.Irecv(room[i][kind], worker, 2 * i + kind) for i in layers for kind in (0, 1)]
                left = len(open_)
                while left:
                    finished = MPI.Request.Testsome(open_)
                    left -= len(finished or [])
                for i in layers:
                    self.weights[i] = self.weights[i] - self.eta * room[i][0]
                    self.biases[i] = self.biases[i] - self.eta * room[i][1]
                MPI.Request.Waitall([self.comm.Isend(a, worker, 2 * i + kind) for i in layers
                                     for kind, a in enumerate((self.weights[i], self.biases[i]))])
                done += 1
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
