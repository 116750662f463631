from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI

SLACK = 3


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
                requests = []
                for i in range(1, self.num_layers):
                    owner = i % self.num_masters
                    requests += [self.comm.Isend(nabla_w[i], owner, i), self.comm.Isend(nabla_b[i], owner, i),
                                 self.comm.Irecv(self.weights[i], owner, i), self.comm.Irecv(self.biases[i], owner, i)]
                MPI.Request.Waitall(requests)

    def receive(self, mine):
        dw = {i: np.empty_like(self.weights[i]) for i in mine}
        db = {i: np.empty_like(self.biases[i]) for i in mine}
        worker = MPI.ANY_SOURCE
        status = MPI.Status()
        for i in mine:
            self.comm.Irecv(dw[i], worker, i).Wait(status)
            worker = status.Get_source()
            self.comm.Irecv(db[i], worker, i).Wait()
        return worker, dw, db

    def do_master(self, validation_data):
        mine = [i for i in range(1, self.num_layers) if i % self.num_masters == self.rank]
        batches = {}
        for w in range(self.num_workers):
            batches[self.num_masters + w] = self.epochs * len(range(w, self.number_of_batches, self.num_workers))
        done = {w: 0 for w in batches}
        waiting = []
        for epoch in range(self.epochs):
            for batch in range(self.number_of_batches):
                # a worker may be SLACK batches ahead of the slowest, so that gradients are never too old
                while True:
                    busy = [done[w] for w in batches if done[w] < batches[w]]
                    ready = [one for one in waiting if done[one[0]] <= min(busy) + SLACK]
                    if ready:
                        break
                    waiting.append(self.receive(mine))
                waiting.remove(ready[0])
                worker, dw, db = ready[0]
                done[worker] += 1
                requests = []
                for i in mine:
                    self.weights[i] = self.weights[i] - self.eta * dw[i]
                    self.biases[i] = self.biases[i] - self.eta * db[i]
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
