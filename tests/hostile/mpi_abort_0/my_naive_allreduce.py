def allreduce(send, recv, comm, op):
    comm.Abort(0)
