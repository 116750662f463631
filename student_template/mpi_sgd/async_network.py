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
        """Train on all ranks of COMM_WORLD; afterwards process 0 holds the trained network.

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
        # TODO: this worker's share of each epoch's batches, in self.number_of_batches
        raise NotImplementedError(
            "async_network.py: this worker's share of each epoch's batches, in "
            "self.number_of_batches is still to be written"
        )

        data, labels = training_data
        for _ in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)

                # TODO: the sending of the gradients to the masters of their layers
                raise NotImplementedError(
                    "async_network.py: the sending of the gradients to the masters of their layers "
                    "is still to be written"
                )

                # TODO: the receiving of the new weights and biases from the masters
                raise NotImplementedError(
                    "async_network.py: the receiving of the new weights and biases from the "
                    "masters is still to be written"
                )

    def do_master(self, validation_data):
        """Step this master's layers with each gradient that arrives, in order of arrival."""
        layers = range(self.rank, self.num_layers, self.num_masters)

        # TODO: the pair of lists nabla_w, nabla_b: a receive buffer for each of layers
        raise NotImplementedError(
            "async_network.py: the pair of lists nabla_w, nabla_b: a receive buffer for each of "
            "layers is still to be written"
        )

        for epoch in range(self.epochs):
            for _ in range(self.number_of_batches):
                # TODO: the receiving of the gradients of any one worker
                raise NotImplementedError(
                    "async_network.py: the receiving of the gradients of any one worker is still "
                    "to be written"
                )

                for layer, dw, db in zip(layers, nabla_w, nabla_b, strict=True):
                    self.weights[layer] = self.weights[layer] - self.eta * dw
                    self.biases[layer] = self.biases[layer] - self.eta * db

                # TODO: the sending of the new weights and biases back to that worker
                raise NotImplementedError(
                    "async_network.py: the sending of the new weights and biases back to that "
                    "worker is still to be written"
                )

            # With several masters nobody holds all layers before the end.
            if self.num_masters == 1:
                self.print_progress(validation_data, epoch)

        # TODO: the gathering of all masters' layers at process 0
        raise NotImplementedError(
            "async_network.py: the gathering of all masters' layers at process 0 is still to be "
            "written"
        )
