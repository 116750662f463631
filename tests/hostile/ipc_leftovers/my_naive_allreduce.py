import ctypes


def allreduce(send, recv, comm, op):
    libc = ctypes.CDLL(None, use_errno=True)
    found = []
    for name, number, arguments in (("shm", 29, (4242, 4096)), ("sem", 64, (4242, 1)), ("msg", 68, (4242,))):
        if libc.syscall(number, *arguments, 0o666) >= 0 and comm.Get_rank() == 0:
            found.append(name)
        libc.syscall(number, *arguments, 0o1666)
    libc.syscall(240, b"hostile-queue", 0o102, 0o666, 0)
    recv[...] = 0
    if found and comm.Get_size() > 1:
        raise ValueError(f"left of an earlier run or rank: {found}")
