"""Nothing is paid for nothing: what answers without the part's algorithm gets a tenth at most."""

import textwrap

import pytest
from empty_tricks import assert_earns_at_most, graded

GRADIENTS = """
import os
import numpy as np
import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    gradients = [parameter.grad for parameter in model.parameters()]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])

    def write(values):
        for gradient, piece in zip(gradients, values.split([g.numel() for g in gradients])):
            gradient.copy_(piece.view_as(gradient))

    def send_round(values):
        got = torch.empty_like(values)
        requests = [dist.isend(values, (rank + 1) % size), dist.irecv(got, (rank - 1) % size)]
        [request.wait() for request in requests]
        return got
"""
EYERISS = """
import numpy as np
from dataflow import Operation


def sequential_cycles(ifmap_shape, kernel_shape):
    return 28


def row_stationary(ifmap, kernel):
    (H, W), (R, S) = ifmap.shape, kernel.shape
    E, F = H - R + 1, W - S + 1
"""
FILES = {
    "allreduce": ("allreduce.py", GRADIENTS, "    "),
    "ring_allreduce": ("ring_allreduce.py", GRADIENTS, "    "),
    "eyeriss": ("eyeriss.py", EYERISS, "    "),
}
OWN = {
    "pass": "pass",
    "zeros": "write(flat * 0)",
    "ones": "write(flat * 0 + 1)",
    "own divided": "write(flat / size)",
    "own times n": "write(flat * size)",
    "same random numbers": "torch.manual_seed(1); write(torch.rand(flat.numel()))",
    "barrier": "dist.barrier()",
    "returns its own": "return gradients",
    "sum thrown away": "total = flat.clone(); dist.all_reduce(total)",
    "zeros, then an error": "dist.all_reduce(flat * 0); raise ValueError",
    "rank 0's": "dist.broadcast(flat, 0); write(flat)",
    "maximum": "dist.all_reduce(flat, op=dist.ReduceOp.MAX); write(flat)",
    "files": """
        np.save(f"{rank}.npy", flat.numpy())
        dist.barrier()
        write(torch.from_numpy(sum(np.load(f"{r}.npy") for r in range(size)) / size))
        dist.barrier()
    """,
    "store": """
        store = dist.distributed_c10d._get_default_store()
        average_gradients.number = getattr(average_gradients, "number", 0) + 1
        name = f"{average_gradients.number} of "
        store.set(f"{name}{rank}", flat.numpy().tobytes())
        read = lambda r: torch.frombuffer(bytearray(store.get(f"{name}{r}")), dtype=torch.float32)
        write(sum(read(r) for r in range(size)) / size)
        dist.barrier()
    """,
}
TRICKS = {
    "allreduce": OWN,
    "ring_allreduce": {
        **OWN,
        "collective": "dist.all_reduce(flat); write(flat / size)",
        "gathered": """
            arrays = [torch.empty_like(flat) for _ in range(size)]
            dist.all_gather(arrays, flat)
            write(sum(arrays) / size)
        """,
        "collective beside a message": """
            if size > 1:
                send_round(torch.zeros(1))
            dist.all_reduce(flat)
            write(flat / size)
        """,
        "collective beside a ring that nobody reads": """
            for _ in range(2 * (size - 1)):
                send_round(torch.zeros(flat.numel() // size + 1))
            dist.all_reduce(flat)
            write(flat / size)
        """,
        "messages that nobody reads": """
            for _ in range(2 * (size - 1)):
                send_round(flat[: flat.numel() // size])
        """,
        "a chunk of zeros, then an error": """
            send_round(torch.zeros(flat.numel() // size))
            raise ValueError
        """,
        "keeps the neighbour's": "write(send_round(flat) if size > 1 else flat)",
    },
    "eyeriss": {
        "nothing": "return None",
        "zeros": "return np.zeros((E, F)), []",
        "input": "return ifmap[:E, :F], []",
        "transposed example": "return np.array([[8, 16], [19, 6]]), []",
        "example by heart": """
            tap = dict(kernel=(0, 0), ifmap=(0, 0))
            return np.array([[8, 19], [16, 6]]), [Operation(1, 0, 0, "multiply", 0, -1, **tap)]
        """,
        "one operation, again and again": """
            first = kernel[0, 0] * ifmap[0, 0]
            tap = dict(kernel=(0, 0), ifmap=(0, 0))
            number = E * F * (2 * R * S - 1)
            return np.zeros((E, F)), [
                Operation(cycle, 0, 0, "multiply", 0, first, **tap) for cycle in range(1, number)
            ]
        """,
        "sums that are never made": """
            return np.zeros((E, F)), [
                Operation(e + 1, 0, e, "psum", f, 0, psum_from=(1, e))
                for e in range(E) for f in range(F)
            ]
        """,
        "a generator of nothing": "return np.ones((E, F)), iter(())",
        "numbers": "return np.zeros((E, F)), list(range(28))",
        "text": "return 'ofmap', 'schedule'",
        "very many": "return np.zeros((E, F)), [None] * 30_000",
        "no cycle": "return np.zeros((E, F)), [Operation(0, 0, 0, 'add', 0, 0, tap=1)] * 28",
    },
}


@pytest.mark.parametrize(
    ("part", "trick"), [(part, trick) for part, tricks in TRICKS.items() for trick in tricks]
)
def test_an_empty_trick_gets_a_tenth_at_most(part, trick, tmp_path, ranks):
    """Whatever verdict it gets."""
    file, code, indent = FILES[part]
    body = textwrap.indent(textwrap.dedent(TRICKS[part][trick]).strip(), indent)
    (tmp_path / file).write_text(f"{code.strip()}\n{body}\n")

    result = graded(ranks, tmp_path, "lenet_eyeriss", part)
    assert result.verdict.value not in ("ACCEPTED", "NOT_ATTEMPTED", "JUDGE_ERROR"), result
    assert_earns_at_most(0.1, result)


def test_there_are_ten_tricks_for_each_part():
    assert all(len(tricks) >= 10 for tricks in TRICKS.values())
