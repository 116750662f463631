import numpy as np
def ringallreduce(send, recv, comm, op):
    n, r = comm.Get_size(), comm.Get_rank()
    recv[...] = send
    flat = recv.reshape(-1)
    parts = np.array_split(flat, n)
    for k in range(n - 1):
        q = comm.irecv(source=(r - 1) % n)
        got = q.wait()
        comm.send(parts[(r - k) % n], dest=(r + 1) % n)
        i = (r - k - 1) % n
        parts[i][:] = op(parts[i], got)
    for k in range(n - 1):
        got = comm.recv(source=(r - 1) % n)
        comm.send(parts[(r - k + 1) % n], dest=(r + 1) % n)
        parts[(r - k) % n][:] = got
