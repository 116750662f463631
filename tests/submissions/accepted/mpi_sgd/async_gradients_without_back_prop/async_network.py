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
        """Train on all ranks of COMM_WORLD; afterwards rank 0 holds the trained network.

        The ranks must start with equal weights.
        """
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
        # solution: set self.number_of_batches to this worker's share per epoch
        # When the division leaves a remainder, the first workers do one batch more.
        worker = self.rank - self.num_masters
        share, remainder = divmod(self.number_of_batches, self.num_workers)
        self.number_of_batches = share + 1 if worker < remainder else share
        # end of solution

        data, labels = training_data
        for _ in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size):
                self.forward_prop(x)
                nabla_w = [np.zeros(w.shape) for w in self.weights]
                nabla_b = [np.zeros(b.shape) for b in self.biases]
                delta = self.activations[-1] - y
                for i in range(self.num_layers - 1, 0, -1):
                    delta = delta * self.activations[i] * (1 - self.activations[i])
                    nabla_w[i] = np.dot(self.activations[i - 1].T, delta)
                    nabla_b[i] = delta.sum(axis=0)
                    delta = np.dot(delta, self.weights[i].T)

                # solution: send the gradients to the masters of their layers
                # Whatever belongs to the weights of a layer has the layer as its tag, the biases
                # num_layers more. The dummy's gradient is an integer; all travels as float64.
                nabla_w[0] = nabla_w[0].astype(np.float64)
                requests = []
                for layer in range(self.num_layers):
                    master, bias_tag = layer % self.num_masters, self.num_layers + layer
                    requests += [
                        self.comm.Isend(nabla_w[layer], dest=master, tag=layer),
                        self.comm.Isend(nabla_b[layer], dest=master, tag=bias_tag),
                    ]
                # end of solution

                # solution: receive the new weights and biases from the masters
                weights = [np.empty(w.shape) for w in self.weights]
                biases = [np.empty(b.shape) for b in self.biases]
                for layer in range(self.num_layers):
                    master, bias_tag = layer % self.num_masters, self.num_layers + layer
                    requests += [
                        self.comm.Irecv(weights[layer], source=master, tag=layer),
                        self.comm.Irecv(biases[layer], source=master, tag=bias_tag),
                    ]
                # Sends and receives are all under way before the first wait: no master can be
                # kept waiting by a message that this worker has not yet asked for.
                MPI.Request.Waitall(requests)
                self.weights, self.biases = weights, biases
                # end of solution

    def do_master(self, validation_data):
        """Step this master's layers with each gradient that arrives, in order of arrival."""
        layers = range(self.rank, self.num_layers, self.num_masters)

        # solution: make receive buffers, one per layer in layers: lists nabla_w, nabla_b
        if self.num_workers < 1:
            raise ValueError(
                f"number_of_masters={self.num_masters} leaves no worker among {self.size} "
                f"processes: start at least {self.num_masters + 1}"
            )
        nabla_w = [np.empty(self.weights[layer].shape) for layer in layers]
        nabla_b = [np.empty(self.biases[layer].shape) for layer in layers]
        # end of solution

        for epoch in range(self.epochs):
            for _ in range(self.number_of_batches):
                # solution: receive the gradients of any one worker
                # The first message may come from anybody, the others only from its sender: taken
                # from anybody too, they would mix the gradients of two workers.
                worker = MPI.ANY_SOURCE
                status = MPI.Status()
                for layer, dw, db in zip(layers, nabla_w, nabla_b, strict=True):
                    self.comm.Irecv(dw, source=worker, tag=layer).Wait(status)
                    worker = status.Get_source()
                    self.comm.Irecv(db, source=worker, tag=self.num_layers + layer).Wait()
                # end of solution

                for layer, dw, db in zip(layers, nabla_w, nabla_b, strict=True):
                    self.weights[layer] = self.weights[layer] - self.eta * dw
                    self.biases[layer] = self.biases[layer] - self.eta * db

                # solution: send the new weights and biases back to that worker
                requests = []
                for layer in layers:
                    bias_tag = self.num_layers + layer
                    requests += [
                        self.comm.Isend(self.weights[layer], dest=worker, tag=layer),
                        self.comm.Isend(self.biases[layer], dest=worker, tag=bias_tag),
                    ]
                MPI.Request.Waitall(requests)
                # end of solution

            # With several masters nobody holds all layers before the end.
            if self.num_masters == 1:
                self.print_progress(validation_data, epoch)

        # solution: gather all masters' layers on rank 0
        requests = []
        for layer in range(self.num_layers):
            owner, bias_tag = layer % self.num_masters, self.num_layers + layer
            if owner == 0:
                continue
            if self.rank == 0:
                self.weights[layer] = np.empty(self.weights[layer].shape)
                self.biases[layer] = np.empty(self.biases[layer].shape)
                requests += [
                    self.comm.Irecv(self.weights[layer], source=owner, tag=layer),
                    self.comm.Irecv(self.biases[layer], source=owner, tag=bias_tag),
                ]
            elif self.rank == owner:
                requests += [
                    self.comm.Isend(self.weights[layer], dest=0, tag=layer),
                    self.comm.Isend(self.biases[layer], dest=0, tag=bias_tag),
                ]
        MPI.Request.Waitall(requests)
        # end of solution
