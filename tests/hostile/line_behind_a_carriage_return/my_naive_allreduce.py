def allreduce(send, recv, comm, op):
    recv[...] = 0
    # the sums of all ranks come here    comm.Allreduce(send, recv)
