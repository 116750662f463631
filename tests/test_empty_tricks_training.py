"""What trains nobody together earns at most a tenth of a training part of mpi_sgd."""

from pathlib import Path
from textwrap import indent

import pytest
from empty_tricks import assert_earns_at_most, graded

SYNCHRONOUS = """\
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
from network import *


class SynchronicNeuralNetwork(NeuralNetwork):
    def fit(self, training_data, validation_data=None):
        MPI.Init()
        comm = MPI.COMM_WORLD
        size = comm.Get_size()
        for epoch in range(self.epochs):
            for x, y in self.create_batches(*training_data, self.mini_batch_size // size):
                self.forward_prop(x)
                my_nabla_b, my_nabla_w = self.back_prop(y)
                nabla_b, nabla_w = my_nabla_b, my_nabla_w
{trick}
                self.weights = [w - self.eta * dw for w, dw in zip(self.weights, nabla_w)]
                self.biases = [b - self.eta * db for b, db in zip(self.biases, nabla_b)]
        MPI.Finalize()
"""

OWN_GRADIENTS = {
    "no traffic": "pass",
    "own gradients times the number of ranks": "nabla_w = [size * g for g in my_nabla_w]",
    "zeros": "nabla_b, nabla_w = ([0 * g for g in gs] for gs in (my_nabla_b, my_nabla_w))",
    "ones": "nabla_b, nabla_w = ([g**0 for g in gs] for gs in (my_nabla_b, my_nabla_w))",
    "the sums are thrown away": "for g in nabla_w + nabla_b: comm.Allreduce(g, g.copy())",
    "an Allreduce of zeros": "comm.Allreduce(np.zeros(2000), np.empty(2000))",
    "an Allreduce of each array with nothing in it": (
        "for g in nabla_w + nabla_b: comm.Allreduce(0 * g, np.empty_like(g))"
    ),
    "an Allreduce of zeros, then an error": (
        "for g in nabla_w + nabla_b: comm.Allreduce(0 * g, np.empty_like(g))\nraise ValueError"
    ),
    "zeros around a ring, then a crash": (
        "for g in nabla_w + nabla_b:\n"
        "    for _ in range(2 * (size - 1)):\n"
        "        share = np.zeros(-(-g.size // size))\n"
        "        left = (comm.rank - 1) % size\n"
        "        comm.Sendrecv(share, (comm.rank + 1) % size, 0, share.copy(), left)\n"
        "1 / 0"
    ),
    "a Bcast of rank 0's gradients": "for g in nabla_w + nabla_b: comm.Bcast(g)",
    "a barrier": "comm.Barrier()",
    "messages that nobody looks at": (
        "for g in nabla_w + nabla_b:\n"
        "    comm.Sendrecv(g, (comm.rank + 1) % size, 0, np.empty_like(g), (comm.rank - 1) % size)"
    ),
    "rank 0 trains alone": "if comm.rank: continue",
}
BY_A_COLLECTIVE = {
    "an Allreduce instead": "for g in nabla_w + nabla_b: comm.Allreduce(MPI.IN_PLACE, g)",
    "a lower-case allreduce instead": (
        "nabla_b, nabla_w = ([comm.allreduce(g) for g in gs] for gs in (my_nabla_b, my_nabla_w))"
    ),
    "an Allreduce beside a decoy ring": (
        "for g in nabla_w + nabla_b:\n"
        "    comm.Sendrecv(g, (comm.rank + 1) % size, 0, g.copy(), (comm.rank - 1) % size)\n"
        "    comm.Allreduce(MPI.IN_PLACE, g)"
    ),
    "an Allgather, added up by hand": (
        "for g in nabla_w + nabla_b:\n"
        "    every = np.empty((size, *g.shape), g.dtype)\n"
        "    comm.Allgather(g.copy(), every)\n"
        "    g[...] = every.sum(axis=0)"
    ),
}

ASYNCHRONOUS = """\
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
from network import *


class AsynchronicNeuralNetwork(NeuralNetwork):
    def __init__(self, sizes=(), learning_rate=1.0, mini_batch_size=16, number_of_batches=16,
                 epochs=10, number_of_masters=1, matmul=np.matmul):
        super().__init__(sizes, learning_rate, mini_batch_size, number_of_batches, epochs, matmul)
        self.num_masters = number_of_masters

    def fit(self, training_data, validation_data=None):
        MPI.Init()
        self.comm = MPI.COMM_WORLD
        self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()
        self.num_workers = self.size - self.num_masters
        worker = self.rank - self.num_masters
        share = len(range(worker, self.number_of_batches, self.num_workers))
{trick}
        MPI.Finalize()

    def alone(self, data, number):
        total, self.number_of_batches = self.number_of_batches, number
        for epoch in range(self.epochs):
            for x, y in self.create_batches(*data, self.mini_batch_size):
                self.forward_prop(x)
                nabla_b, nabla_w = self.back_prop(y)
                for i in range(1, self.num_layers):
                    self.weights[i] = self.weights[i] - self.eta * nabla_w[i]
                    self.biases[i] = self.biases[i] - self.eta * nabla_b[i]
        self.number_of_batches = total
"""
BOTH_WAYS = (
    "turns = [number % self.num_workers for number in range(self.number_of_batches)]\n"
    "workers = [self.num_masters + turn for turn in turns]\n"
    "peers = [0] * share if worker >= 0 else workers if self.rank == 0 else []\n"
    "for peer in self.epochs * peers:\n"
    "    for array in self.weights[1:] + self.biases[1:]:\n"
    "        self.comm.Sendrecv(0 * array, peer, 0, np.empty_like(array), peer)\n"
)
MASTERLESS = {
    "nothing": "pass",
    "workers train alone": "if worker >= 0: self.alone(training_data, share)",
    "every rank trains alone": "self.alone(training_data, self.number_of_batches)",
    "process 0 trains alone": (
        "if self.rank == 0: self.alone(training_data, self.number_of_batches)"
    ),
    "workers send, nobody receives": (
        "if worker >= 0:\n"
        "    self.alone(training_data, share)\n"
        "    for w in self.weights[1:]: self.comm.Isend(w, 0).Free()"
    ),
    "workers train alone, then a barrier": (
        "if worker >= 0: self.alone(training_data, share)\nself.comm.Barrier()"
    ),
    "masters send the start weights": (
        "if worker >= 0:\n"
        "    self.alone(training_data, share)\n"
        "    for w in self.weights[1:]: self.comm.Irecv(np.empty_like(w), 0).Wait()\n"
        "elif self.rank == 0:\n"
        "    for rank in range(self.num_masters, self.size):\n"
        "        for w in self.weights[1:]: self.comm.Isend(w, rank).Wait()"
    ),
    "forward passes without a step": (
        "if worker >= 0:\n"
        "    for x, y in self.create_batches(*training_data, self.mini_batch_size):\n"
        "        self.forward_prop(x)\n"
        "        self.back_prop(y)"
    ),
    "masters ask for what workers never send": (
        "if worker >= 0: self.alone(training_data, share)\n"
        "elif self.rank == 0: self.comm.Irecv(self.weights[1], MPI.ANY_SOURCE).Cancel()"
    ),
    "zeros both ways, then an error": BOTH_WAYS + "raise ValueError",
    "zeros both ways, then a crash": BOTH_WAYS + "1 / 0",
    "noise both ways, then a crash": (
        BOTH_WAYS.replace("0 * array", "np.random.rand(*array.shape)") + "1 / 0"
    ),
    "random numbers on process 0": (
        "if worker >= 0: self.alone(training_data, share)\n"
        "else: self.weights[1:] = [np.random.rand(*w.shape) for w in self.weights[1:]]"
    ),
}

TRICKS = [
    *(("sync_collective", name, trick) for name, trick in OWN_GRADIENTS.items()),
    *(
        ("sync_ring", name, trick)
        for name, trick in (OWN_GRADIENTS | BY_A_COLLECTIVE).items()
        if name in BY_A_COLLECTIVE or "comm" not in trick or "Sendrecv" in trick
    ),
    *(("async_masters", name, trick) for name, trick in MASTERLESS.items()),
]
FILES = {
    "sync_collective": ("sync_network_collective.py", SYNCHRONOUS, 16),
    "sync_ring": ("sync_network.py", SYNCHRONOUS, 16),
    "async_masters": ("async_network.py", ASYNCHRONOUS, 8),
}


@pytest.mark.parametrize(
    ("part", "trick"),
    [pytest.param(part, trick, id=f"{part}: {name}") for part, name, trick in TRICKS],
)
def test_an_empty_trick_earns_next_to_nothing(part: str, trick: str, tmp_path: Path, ranks) -> None:
    file, frame, depth = FILES[part]
    (tmp_path / file).write_text(frame.format(trick=indent(trick, depth * " ")))
    assert_earns_at_most(0.1, graded(ranks, tmp_path, "mpi_sgd", part))
