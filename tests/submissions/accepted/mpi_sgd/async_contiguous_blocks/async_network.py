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
        # layers 1..L-1 in blocks; some masters may get an empty block
        self.blocks = np.array_split(np.arange(1, self.num_layers), number_of_masters)

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
        self.comm.Barrier()          # everybody is done
        MPI.Finalize()

    def my_share(self):
        """ how many of range(number_of_batches) fall to this worker when dealt like cards """
        return len(range(self.rank - self.num_masters, self.number_of_batches, self.num_workers))

    def do_worker(self, training_data):
        data, labels = training_data
        self.number_of_batches = self.my_share()
        for epoch in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                todo = []
                for master, block in enumerate(self.blocks):
                    for i in block:
                        todo.append(self.comm.Isend(nabla_b[i], master, 10 + i))
                        todo.append(self.comm.Isend(nabla_w[i], master, 1000 + i))
                new_w = {i: np.empty_like(self.weights[i]) for i in range(1, self.num_layers)}
                new_b = {i: np.empty_like(self.biases[i]) for i in range(1, self.num_layers)}
                for master, block in enumerate(self.blocks):
                    for i in block:
                        todo.append(self.comm.Irecv(new_b[i], master, 10 + i))
                        todo.append(self.comm.Irecv(new_w[i], master, 1000 + i))
                MPI.Request.Waitall(todo)
                for i in range(1, self.num_layers):
                    self.weights[i], self.biases[i] = new_w[i], new_b[i]

    def anyone(self, tag):
        while True:
            status = MPI.Status()
            message = self.comm.Improbe(MPI.ANY_SOURCE, tag, status)
            if message is not None:
                return message, status.Get_source()

    def do_master(self, validation_data):
        block = self.blocks[self.rank]
        for epoch in range(self.epochs):
            if len(block):
                for batch in range(self.number_of_batches):
                    self.serve_one_worker(block)
            self.print_progress(validation_data, epoch)

        todo = []
        for master in range(1, self.num_masters):
            for i in self.blocks[master]:
                if self.rank == master:
                    todo += [self.comm.Isend(self.weights[i], 0, 3000 + i), self.comm.Isend(self.biases[i], 0, 5000 + i)]
                elif self.rank == 0:
                    todo += [self.comm.Irecv(self.weights[i], master, 3000 + i), self.comm.Irecv(self.biases[i], master, 5000 + i)]
        MPI.Request.Waitall(todo)

    def serve_one_worker(self, block):
        message, worker = self.anyone(10 + block[0])
        db = {i: np.empty_like(self.biases[i]) for i in block}
        dw = {i: np.empty_like(self.weights[i]) for i in block}
        todo = [message.Irecv(db[block[0]])]
        todo += [self.comm.Irecv(db[i], worker, 10 + i) for i in block[1:]]
        todo += [self.comm.Irecv(dw[i], worker, 1000 + i) for i in block]
        MPI.Request.Waitall(todo)
        for i in block:
            self.biases[i] = self.biases[i] - self.eta * db[i]
            self.weights[i] = self.weights[i] - self.eta * dw[i]
        MPI.Request.Waitall([self.comm.Isend(self.biases[i], worker, 10 + i) for i in block]
                            + [self.comm.Isend(self.weights[i], worker, 1000 + i) for i in block])
