import torch
import torch.distributed as dist

chunks = None   # allocate the send buffers only once


def average_gradients(model):
    global chunks
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    if chunks is None:
        flat = torch.cat([p.grad.view(-1) for p in model.parameters()])
        chunks = list(torch.tensor_split(flat / size, size))
        for i in range(size - 1):
            tmp = torch.zeros_like(chunks[(rank - i - 1) % size])
            reqs = [dist.isend(chunks[(rank - i) % size], right), dist.irecv(tmp, left)]
            for r in reqs:
                r.wait()
            chunks[(rank - i - 1) % size] += tmp
    for i in range(size - 1):
        reqs = [dist.isend(chunks[(rank + 1 - i) % size], right),
                dist.irecv(chunks[(rank - i) % size], left)]
        for r in reqs:
            r.wait()
    flat = torch.cat(chunks)
    at = 0
    for p in model.parameters():
        p.grad.copy_(flat[at:at + p.numel()].view_as(p))
        at += p.numel()
