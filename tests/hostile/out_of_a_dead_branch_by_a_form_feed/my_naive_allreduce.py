def allreduce(send, recv, comm, op):
    recv[...] = 0
    if send is None:
        return
        comm.Allreduce(send, recv)
