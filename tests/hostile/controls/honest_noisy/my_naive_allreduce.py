import json
import logging
import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from mpi4py import MPI

logging.basicConfig(level=logging.DEBUG)


def note(words):
    print(words, flush=True)
    print(words, file=sys.stderr)
    logging.debug(words)
    with open("log.txt", "a") as log:
        log.write(words + "\n")
    with tempfile.NamedTemporaryFile("w", delete=False) as kept:
        json.dump({"words": words}, kept)
    Path(tempfile.gettempdir(), f"grader-{os.getpid()}").mkdir(exist_ok=True)


def allreduce(send, recv, comm, op):
    me, n = comm.Get_rank(), comm.Get_size()
    note(f"rank {me} of {n}: {send.shape} ✓")
    got = np.empty((n, *send.shape), dtype=send.dtype)
    pending = []
    for k in range(1, n):
        pending.append(comm.Irecv(got[(me - k) % n, ...], source=(me - k) % n))
        pending.append(comm.Isend(send, dest=(me + k) % n))
    MPI.Request.Waitall(pending)
    watcher = threading.Thread(target=note, args=("waited",), daemon=True)
    watcher.start()
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(np.copy, (got[(me - k) % n, ...] for k in range(1, n))))
    recv[...] = send
    if send.size:
        for part in parts:
            recv[...] = op(recv, part)
    watcher.join()
