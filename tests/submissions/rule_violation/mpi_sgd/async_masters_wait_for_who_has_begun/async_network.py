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

    def owned(self, m):
        return range(m, self.num_layers, self.num_masters)

    def pack(self, ws, bs, m):
        parts = [np.ravel(a).astype(float) for i in self.owned(m) for a in (ws[i], bs[i])]
        return np.concatenate(parts) if parts else np.zeros(1)

    def unpack(self, v, m, ws, bs):
        at = 0
        for i in self.owned(m):
            for arrays in (ws, bs):
                s = np.shape(arrays[i]); k = int(np.prod(s))
                arrays[i] = v[at:at + k].reshape(s).copy(); at += k

    def share(self):
        worker = self.rank - self.num_masters
        share, remainder = divmod(self.number_of_batches, self.num_workers)
        self.number_of_batches = share + 1 if worker < remainder else share

    def gather(self):
        if self.rank == 0:
            for m in range(1, self.num_masters):
                v = np.empty_like(self.pack(self.weights, self.biases, m))
                self.comm.Irecv(v, source=m, tag=7).Wait()
                self.unpack(v, m, self.weights, self.biases)
        else:
            self.comm.Isend(self.pack(self.weights, self.biases, self.rank), dest=0, tag=7).Wait()

    def do_worker(self, training_data):
        self.share()
        data, labels = training_data
        for _ in range(self.epochs):
            for x, y in self.create_batches(data, labels, self.mini_batch_size):
                self.forward_prop(x)
                hello = np.zeros(1)
                hellos = [self.comm.Isend(hello, dest=m, tag=5) for m in range(self.num_masters)]
                NeuralNetwork.forward_prop(self, x)
                nb, nw = self.back_prop(y)
                sent = [self.pack(nw, nb, m) for m in range(self.num_masters)]
                got = [np.empty_like(v) for v in sent]
                reqs = hellos + [self.comm.Isend(v, dest=m, tag=1) for m, v in enumerate(sent)]
                reqs += [self.comm.Irecv(v, source=m, tag=2) for m, v in enumerate(got)]
                MPI.Request.Waitall(reqs)
                for m, v in enumerate(got):
                    self.unpack(v, m, self.weights, self.biases)

    def do_master(self, validation_data):
        g = np.empty_like(self.pack(self.weights, self.biases, self.rank))
        for k in range(self.epochs * self.number_of_batches):
            st = MPI.Status()
            self.comm.Irecv(np.empty(1), source=MPI.ANY_SOURCE, tag=5).Wait(st)
            who = st.Get_source()
            self.comm.Irecv(g, source=who, tag=1).Wait()
            v = self.pack(self.weights, self.biases, self.rank) - self.eta * g
            self.unpack(v, self.rank, self.weights, self.biases)
            self.comm.Isend(v, dest=who, tag=2).Wait()
        self.gather()
