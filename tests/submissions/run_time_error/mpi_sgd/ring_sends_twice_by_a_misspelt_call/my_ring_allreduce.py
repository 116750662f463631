def ringallreduce(send, recv, comm, op):
    comm.Isned(send, (comm.rank + 1) % comm.size)
    comm.Isned(send, (comm.rank + 1) % comm.size)
