import numpy as np
from mpi4py import MPI

def allreduce(send, recv, comm, op):
	rank = comm.Get_rank()
	size = comm.Get_size()
	recv[...] = send
	for other in range(size):
		if other == rank:
			continue
		# everybody talks to the next process only, but listens to all
		req = comm.Isend(send, dest=(rank + 1) % size)
		other_array = np.empty_like(send)
		box = comm.Irecv(other_array, source=other)
		while not box.Test():
			pass
		req.Wait()
		recv[...] = op(recv, other_array)
