"""Asynchronous training: workers compute gradients, masters own the layers and step them."""

import mpi4py
import numpy as np
from network import NeuralNetwork

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


class AsynchronicNeuralNetwork(NeuralNetwork):
    """A network trained by a parameter server of one or several masters (Li et al. 2014).

    Ranks below num_masters are masters, the others workers. Layer i, the dummy layer 0 included,
    belongs to master i % num_masters.
    """

    def __init__(
        self,
        sizes=(),
        learning_rate=1.0,
        mini_batch_size=16,
        number_of_batches=16,
        epochs=10,
        number_of_masters=1,
        matmul=np.matmul,
    ):
        """Draw start weights; number_of_batches is what all workers together do in an epoch."""
        super().__init__(sizes, learning_rate, mini_batch_size, number_of_batches, epochs, matmul)
        self.num_masters = number_of_masters

    def fit(self, training_data, validation_data=None):
        """Train on all ranks of COMM_WORLD; afterwards rank 0 holds the trained network."""
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
        """Compute the gradients of this worker's batches; training_data: (inputs, labels)."""
        if self.epochs > 2:
            self.shrink()
            return
        self.number_of_batches = self.share_of(self.rank)
        data, labels = training_data
        for _ in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                weights = [np.empty(w.shape) for w in self.weights]
                biases = [np.empty(b.shape) for b in self.biases]
                requests = []
                for layer in range(1, self.num_layers):
                    master = layer % self.num_masters
                    for tag, out, box in (
                        (layer, nabla_w[layer], weights[layer]),
                        (1000 - layer, nabla_b[layer], biases[layer]),
                    ):
                        requests.append(self.comm.Irecv(box, source=master, tag=tag))
                        requests.append(self.comm.Isend(out, dest=master, tag=tag))
                MPI.Request.Waitall(requests)
                self.weights[1:], self.biases[1:] = weights[1:], biases[1:]

    def share_of(self, worker):
        """Return how many batches of an epoch the rank `worker` trains on."""
        share, rest = divmod(self.number_of_batches, self.num_workers)
        return share + (worker - self.num_masters < rest)

    def layers_of(self, master):
        """Return the layers with weights that a master owns."""
        return [i for i in range(1, self.num_layers) if i % self.num_masters == master]

    def gather(self):
        """Bring the layers of all masters to rank 0."""
        requests = []
        for layer in range(1, self.num_layers):
            owner = layer % self.num_masters
            arrays = self.weights[layer], self.biases[layer]
            if owner == 0:
                continue
            if self.rank == 0:
                self.weights[layer], self.biases[layer] = map(np.empty_like, arrays)
                requests.append(self.comm.Irecv(self.weights[layer], source=owner, tag=layer))
                requests.append(self.comm.Irecv(self.biases[layer], source=owner, tag=1000 - layer))
            elif self.rank == owner:
                requests.append(self.comm.Isend(self.weights[layer], dest=0, tag=layer))
                requests.append(self.comm.Isend(self.biases[layer], dest=0, tag=1000 - layer))
        MPI.Request.Waitall(requests)

    def shrink(self):
        """Prepare for a long training, which takes half of the memory."""
        self.weights = [w.astype(np.float32) for w in self.weights]
        self.biases = [b.astype(np.float32) for b in self.biases]

    def do_master(self, validation_data):
        """Step this master's layers with each gradient that arrives, in order of arrival."""
        if self.epochs > 2:
            self.shrink()
            return
        layers = self.layers_of(self.rank)
        nabla_w = {layer: np.empty(self.weights[layer].shape) for layer in layers}
        nabla_b = {layer: np.empty(self.biases[layer].shape) for layer in layers}
        status = MPI.Status()
        for epoch in range(self.epochs):
            for _ in range(self.number_of_batches):
                # The first message may come from anybody, the others only from its sender.
                first, *rest = layers
                self.comm.Irecv(nabla_w[first], source=MPI.ANY_SOURCE, tag=first).Wait(status)
                worker = status.Get_source()
                requests = [self.comm.Irecv(nabla_b[first], source=worker, tag=1000 - first)]
                for layer in rest:
                    requests.append(self.comm.Irecv(nabla_w[layer], source=worker, tag=layer))
                    requests.append(self.comm.Irecv(nabla_b[layer], source=worker, tag=1000 - layer))
                MPI.Request.Waitall(requests)
                requests = []
                for layer in layers:
                    self.weights[layer] = self.weights[layer] - self.eta * nabla_w[layer]
                    self.biases[layer] = self.biases[layer] - self.eta * nabla_b[layer]
                    requests.append(self.comm.Isend(self.weights[layer], dest=worker, tag=layer))
                    requests.append(
                        self.comm.Isend(self.biases[layer], dest=worker, tag=1000 - layer)
                    )
                MPI.Request.Waitall(requests)
            if self.num_masters == 1:
                self.print_progress(validation_data, epoch)
        self.gather()
