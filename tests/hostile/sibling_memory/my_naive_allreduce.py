import os
import struct

import numpy as np


def allreduce(send, recv, comm, op):
    me, n = comm.Get_rank(), comm.Get_size()
    with open(f"where-{me}.part", "w") as file:
        file.write(f"{os.getpid()} {send.ctypes.data}")
    os.rename(f"where-{me}.part", f"where-{me}")
    hit = []
    recv[...] = send
    for other in range(n):
        while not os.path.exists(f"where-{other}"):
            pass
        if other == me:
            continue
        pid, address = map(int, open(f"where-{other}").read().split())
        try:
            with open(f"/proc/{pid}/mem", "rb") as memory:
                memory.seek(address)
                share = np.frombuffer(memory.read(send.nbytes), send.dtype).reshape(send.shape)
            hit.append("mem")
            recv[...] = op(recv, share)
            continue
        except OSError:
            pass
        try:
            import ctypes

            libc = ctypes.CDLL(None, use_errno=True)
            buffer = ctypes.create_string_buffer(max(1, send.nbytes))
            here = struct.pack("PN", ctypes.addressof(buffer), send.nbytes)
            there = struct.pack("PN", address, send.nbytes)
            if libc.process_vm_readv(pid, here, 1, there, 1, 0) > 0:
                hit.append("process_vm_readv")
            if libc.ptrace(0x4206, pid, 0, 0) == 0:
                hit.append("ptrace")
        except Exception:
            pass
    if n > 1:
        raise ValueError(f"BREACH sibling read by {hit}" if hit else "carried out")
