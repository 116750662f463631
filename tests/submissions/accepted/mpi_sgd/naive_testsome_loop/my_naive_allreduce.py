import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI

def allreduce(send, recv, comm, op):
	n, me = comm.Get_size(), comm.Get_rank()
	inbox = [np.empty_like(send) for _ in range(n)]
	inbox[me][...] = send
	reqs = []
	for k in range(n):
		if k == me:
			continue
		reqs.append(comm.Irecv(inbox[k], source=k))
		reqs.append(comm.Isend(send, dest=k))
	left = len(reqs)
	while left:
		finished = MPI.Request.Testsome(reqs)
		left -= len(finished or [])
	# same order on every rank, so all of them round alike
	total = inbox[0].copy()
	for k in range(1, n):
		total = op(total, inbox[k])
	recv[...] = total
