import torch
import torch.distributed as dist


def average_gradients(model):
    rank = dist.get_rank()
    size = dist.get_world_size()
    next_rank = (rank + size) % size
    prev_rank = (rank - 1 + size) % size

    grads = [p.grad for p in model.parameters()]
    flat = torch.cat([g.flatten() for g in grads])
    chunks = list(flat.tensor_split(size))

    for i in range(size - 1):
        out = chunks[(rank - i) % size].clone()
        buf = torch.zeros_like(chunks[(rank - i - 1) % size])
        req = dist.isend(out, next_rank)
        dist.irecv(buf, prev_rank).wait()
        req.wait()
        chunks[(rank - i - 1) % size] += buf

    for i in range(size - 1):
        out = chunks[(rank - i + 1) % size].clone()
        buf = torch.zeros_like(chunks[(rank - i) % size])
        req = dist.isend(out, next_rank)
        dist.irecv(buf, prev_rank).wait()
        req.wait()
        chunks[(rank - i) % size].copy_(buf)

    flat /= size
    start = 0
    for g in grads:
        g.copy_(flat[start:start + g.numel()].view_as(g))
        start += g.numel()
