"""How many bytes the kernel carries over the loopback for each operation of gloo.

    unshare -rn python benchmarks/gloo_bytes.py [RANKS...]      (default: 2 4 8)

In a network namespace of its own, since the kernel counts for all of it. What is allowed is judged
by `grader/judge/kernel_count.py`.
"""

import fcntl
import multiprocessing
import os
import socket
import struct
import sys
import tempfile
import time

import torch
import torch.distributed as dist

from grader.zygote.loopback import carried_num_bytes

LENGTHS = (1, 1000, 61706, 1_000_003)
SETTLED_S = 0.05
SIOCSIFFLAGS, IS_UP = 0x8914, 0x1


def operations(rank, size, array):
    """Yield (name, what a rank calls) for each operation, with this array from each rank."""
    pieces = [torch.empty_like(array) for _ in range(size)]
    whole = torch.ones(size * len(array))
    at_root = pieces if rank == 0 else None
    yield "all_reduce", lambda: dist.all_reduce(array)
    yield "broadcast", lambda: dist.broadcast(array, 0)
    yield "reduce", lambda: dist.reduce(array, 0)
    yield "gather", lambda: dist.gather(array, at_root, 0)
    yield "scatter", lambda: dist.scatter(array, at_root, 0)
    yield "all_gather", lambda: dist.all_gather(pieces, array)
    yield "all_to_all_single", lambda: dist.all_to_all_single(whole, whole.clone())
    yield "reduce_scatter", lambda: dist.reduce_scatter(array, pieces)
    yield "reduce_scatter_tensor", lambda: dist.reduce_scatter_tensor(array, whole)
    ends = {0: lambda: dist.send(array, 1), 1: lambda: dist.recv(array, 0)}
    yield "send", ends.get(rank, lambda: None)


def run(rank, size, path, together):
    """Call everything as one rank; rank 0 prints what was counted."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)

    def measure(name, num_bytes, call):
        together.wait()
        before = carried_num_bytes()
        together.wait()
        call()
        together.wait()
        time.sleep(SETTLED_S)
        if rank == 0:
            print(
                f"{size:5}  {name:22} {num_bytes:9} {carried_num_bytes() - before:11}", flush=True
            )

    store = dist.FileStore(path, size)
    options = {"store": store, "rank": rank, "world_size": size}
    measure("init_process_group", 0, lambda: dist.init_process_group("gloo", **options))
    measure("new_group", 0, lambda: dist.new_group(list(range(size))))
    measure("barrier", 0, dist.barrier)
    for length in LENGTHS:
        array = torch.ones(length)
        for name, call in operations(rank, size, array):
            measure(name, 4 * length, call)


def main():
    """Measure for each number of ranks."""
    with socket.socket() as any_socket:
        up = struct.pack("16sh", b"lo", IS_UP)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, up)
    if carried_num_bytes() is None:
        raise SystemExit(
            "there are other interfaces than the loopback: see the first lines of this"
        )
    print("ranks  operation              each gives     counted")
    for size in map(int, sys.argv[1:] or (2, 4, 8)):
        context = multiprocessing.get_context("fork")
        with tempfile.TemporaryDirectory() as folder:
            options = (size, f"{folder}/store", context.Barrier(size))
            ranks = [context.Process(target=run, args=(rank, *options)) for rank in range(size)]
            for process in ranks:
                process.start()
            for process in ranks:
                process.join()


if __name__ == "__main__":
    main()
