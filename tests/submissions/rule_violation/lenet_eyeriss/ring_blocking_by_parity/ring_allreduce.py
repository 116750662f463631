"""Gradients around a ring: first everybody gets one finished part, then the parts go around."""

import torch
import torch.distributed as dist


def swap(out, shape_like):
    """Send `out` to the right and return what comes from the left.

    Even processes send first and odd ones receive first, so that it cannot deadlock.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    incoming = torch.empty_like(shape_like)
    if rank % 2 == 0:
        dist.send(out, dst=right)
        dist.recv(incoming, src=left)
    else:
        dist.recv(incoming, src=left)
        dist.send(out, dst=right)
    return incoming


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    grads = [p.grad for p in model.parameters()]
    everything = torch.cat([g.reshape(-1) for g in grads])

    edges = [everything.numel() * k // size for k in range(size + 1)]

    def part(k):
        return everything[edges[k % size]:edges[k % size + 1]]

    for step in range(1, size):
        part(rank - step).add_(swap(part(rank - step + 1), part(rank - step)))
    part(rank + 1).div_(size)
    for step in range(1, size):
        part(rank - step + 1).copy_(swap(part(rank - step + 2), part(rank - step + 1)))

    start = 0
    for g in grads:
        g.copy_(everything[start:start + g.numel()].view_as(g))
        start += g.numel()
