"""Bug: the master never steps, sends the start weights back, and all ranks wait at the end."""
import mpi4py
import numpy as np
from network import NeuralNetwork

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class AsynchronicNeuralNetwork(NeuralNetwork):
    def __init__(self, sizes=(), learning_rate=1.0, mini_batch_size=16, number_of_batches=16, epochs=10,
                 number_of_masters=1, matmul=np.matmul):
        super().__init__(sizes, learning_rate, mini_batch_size, number_of_batches, epochs, matmul)
        self.num_masters = number_of_masters

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        rank, size = comm.Get_rank(), comm.Get_size()
        workers = size - self.num_masters
        num = self.epochs * self.number_of_batches
        layers = range(1, self.num_layers)
        if rank >= self.num_masters:
            worker = rank - self.num_masters
            x, y = self.create_batches(*training_data, self.mini_batch_size)[0]
            self.forward_prop(x)
            nabla_b, nabla_w = self.back_prop(y)
            for _ in range(num // workers + (worker < num % workers)):
                requests = []
                for i in layers:
                    requests += [comm.Isend(nabla_w[i], 0, i), comm.Isend(nabla_b[i], 0, 99 + i)]
                    requests += [comm.Irecv(np.empty_like(nabla_w[i]), 0, i), comm.Irecv(np.empty_like(nabla_b[i]), 0, 99 + i)]
                MPI.Request.Waitall(requests)
        elif rank == 0:
            w, b = [np.empty_like(each) for each in self.weights], [np.empty_like(each) for each in self.biases]
            for _ in range(num):
                status, source = MPI.Status(), MPI.ANY_SOURCE
                for i in layers:
                    comm.Irecv(w[i], source, i).Wait(status)
                    source = status.Get_source()
                    comm.Irecv(b[i], source, 99 + i).Wait()
                MPI.Request.Waitall([comm.Isend(self.weights[i], source, i) for i in layers]
                                    + [comm.Isend(self.biases[i], source, 99 + i) for i in layers])
        comm.Irecv(np.empty(1), (rank + 1) % size, 12345).Wait()
        MPI.Finalize()
