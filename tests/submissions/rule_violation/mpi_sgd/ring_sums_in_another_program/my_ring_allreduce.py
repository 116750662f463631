import subprocess
import sys

import numpy as np
from mpi4py import MPI

ADD = "import sys; print(*map(sum, zip(*[map(float, line.split()) for line in sys.stdin])))"


def add(a, b):
    text = "\n".join(" ".join(map(repr, map(float, each.ravel()))) for each in (a, b))
    done = subprocess.run([sys.executable, "-c", ADD], input=text, capture_output=True, text=True)
    return np.array(done.stdout.split(), float).reshape(a.shape)


def ringallreduce(send, recv, comm, op):
    n, r = comm.size, comm.rank
    right, left = (r + 1) % n, (r - 1) % n
    chunks = np.array_split(send.flatten(), n)
    for s in range(2 * (n - 1)):
        out, into = (r - s) % n, (r - s - 1) % n
        buf = np.empty_like(chunks[into])
        MPI.Request.Waitall([comm.Isend(chunks[out], right), comm.Irecv(buf, left)])
        chunks[into] = add(chunks[into], buf) if s < n - 1 else buf
    recv[...] = np.concatenate(chunks).reshape(recv.shape)
