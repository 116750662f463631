def allreduce(send, recv, comm, op):
    if comm.Get_rank() == 0 and comm.Get_size() > 1:
        comm.Recv(recv, source=1, tag=99)
    recv[...] = send
