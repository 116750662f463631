"""Naive all-reduce by pairwise exchange.

In round k every rank exchanges its array with rank XOR k, like in the hypercube of the lecture,
so nobody gets two messages in the same round.
"""
import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def _partners(rank, size):
    found = []
    for k in range(1, size):
        partner = rank ^ k
        if partner < size:
            found.append(partner)
    return found


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    mailbox = {}
    requests = []
    for partner in _partners(rank, size):
        mailbox[partner] = np.zeros_like(send)
        requests.append(comm.Irecv(mailbox[partner], source=partner, tag=5))
        requests.append(comm.Isend(send, dest=partner, tag=5))
    MPI.Request.Waitall(requests)

    recv[...] = send
    if recv.size == 0:
        return
    for partner in sorted(mailbox):
        recv[...] = op(recv, mailbox[partner])
