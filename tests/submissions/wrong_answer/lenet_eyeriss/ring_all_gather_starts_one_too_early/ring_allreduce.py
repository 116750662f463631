import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    chunks = flat.tensor_split(size)
    for i in range(size - 1):
        got = torch.empty_like(chunks[(rank - i - 1) % size])
        s = dist.isend(chunks[(rank - i) % size], dst=right)
        r = dist.irecv(got, src=left)
        s.wait()
        r.wait()
        chunks[(rank - i - 1) % size].add_(got)
    for i in range(size - 1):
        s = dist.isend(chunks[(rank - i) % size].clone(), dst=right)
        got = torch.empty_like(chunks[(rank - i - 1) % size])
        r = dist.irecv(got, src=left)
        s.wait()
        r.wait()
        chunks[(rank - i - 1) % size].copy_(got)
    flat /= size
    at = 0
    for p in model.parameters():
        p.grad.copy_(flat[at:at + p.numel()].view_as(p))
        at += p.numel()
