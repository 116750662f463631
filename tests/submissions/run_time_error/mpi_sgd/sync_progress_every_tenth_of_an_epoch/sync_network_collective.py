from network import *
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        tenth = self.number_of_batches // 10
        for epoch in range(self.epochs):
            batches = self.create_batches(*training_data, self.mini_batch_size // comm.size)
            for number, (x, y) in enumerate(batches):
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)
                nabla_b = [np.empty_like(db) for db in my_nabla_b]
                nabla_w = [np.empty_like(dw) for dw in my_nabla_w]
                for mine, total in zip(my_nabla_b + my_nabla_w, nabla_b + nabla_w):
                    comm.Allreduce(mine, total, op=MPI.SUM)
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
                if comm.rank == 0:
                    if number % tenth == 0:
                        print(f"epoch {epoch}: {10 * number // tenth} %", flush=True)
            if comm.rank == 0:
                self.print_progress(validation_data, epoch)
        MPI.Finalize()
