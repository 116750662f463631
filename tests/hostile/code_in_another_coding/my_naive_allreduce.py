# coding: utf-7
def allreduce(send, recv, comm, op):
    recv[...] = 0
    # the sums of all ranks come here+AAo-    comm.Allreduce(send, recv)
