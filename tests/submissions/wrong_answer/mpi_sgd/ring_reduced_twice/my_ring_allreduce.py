import numpy as np
from mpi4py import MPI

def ringallreduce(send, recv, comm, op):
	size = comm.Get_size()
	rank = comm.Get_rank()
	recv[...] = send
	chunks = np.array_split(recv.reshape(-1), size)
	for phase in range(2):
		for step in range(size - 1):
			i_send = (rank + phase - step) % size
			i_recv = (rank + phase - step - 1) % size
			temp = np.empty_like(chunks[i_recv])
			reqs = [comm.Irecv(temp, (rank - 1) % size), comm.Isend(chunks[i_send], (rank + 1) % size)]
			MPI.Request.Waitall(reqs)
			chunks[i_recv][...] = op(chunks[i_recv], temp)
