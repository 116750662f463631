def allreduce(send, recv, comm, op):
    comm.Recv(recv)
